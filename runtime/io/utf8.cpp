#include "io/utf8.h"

#include <fmt/format.h>

namespace rille::io {
namespace {

struct Lead {
  uint8_t bytes;
  char32_t bits, least;  // what the lead byte gives, and the smallest value that needs this length
};

Lead lead(unsigned char c) {
  if (c < 0x80) return {1, c, 0};
  if (c < 0xc2) return {0, 0, 0};
  if (c < 0xe0) return {2, c & 0x1fu, 0x80};
  if (c < 0xf0) return {3, c & 0x0fu, 0x800};
  if (c < 0xf5) return {4, c & 0x07u, 0x10000};
  return {0, 0, 0};
}

}  // namespace

CodePoint decode_utf8(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const Lead first = lead(static_cast<unsigned char>(text[at]));
  if (first.bytes == 0 || text.size() - at < first.bytes) return {};
  char32_t value = first.bits;
  for (size_t i = 1; i < first.bytes; ++i) {
    const auto c = static_cast<unsigned char>(text[at + i]);
    if ((c & 0xc0u) != 0x80) return {};
    value = (value << 6) | (c & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < first.least || value > 0x10ffff || surrogate) return {};
  return {value, first.bytes};
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto tail = [&](int shift) { put(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    tail(6), tail(0);
  } else {
    put(0xf0 | (c >> 18));
    tail(12), tail(6), tail(0);
  }
}

size_t first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (c.bytes == 0) return at;
    at += c.bytes;
  }
  return std::string_view::npos;
}

std::string shown(std::string_view text, size_t limit) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (out.size() >= limit) return out + "...";
    const CodePoint c = decode_utf8(text, at);
    const bool control = c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0);
    if (c.bytes == 0 || control) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
      ++at;
    } else {
      out.append(text, at, c.bytes);
      at += c.bytes;
    }
  }
  return out;
}

}  // namespace rille::io
