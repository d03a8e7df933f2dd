#include "interpreter/lua/printable.h"

#include <fmt/format.h>

namespace rille::lua {
namespace {

constexpr size_t kLongestReport = 4096;
constexpr size_t kLongestMessage = kLongestReport * 3 / 4;  // where a traceback follows

// How many bytes of the character at the beginning may be shown as they are; 0 where it is a
// control character, one of the second set (U+0080 to U+009F) too, or no UTF-8.
size_t plain_bytes(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const unsigned first = at(0), second = at(1);
  if (first < 0x80) return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t';
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  // Neither the second set, nor what has a shorter form, is a surrogate, or beyond the last.
  const unsigned low = first == 0xc2 || first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (first < 0xc2 || first > 0xf4 || second < low || second > high) return 0;
  for (size_t i = 2; i < size; ++i)
    if (at(i) < 0x80 || at(i) > 0xbf) return 0;
  return size;
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string out;
  while (!text.empty()) {
    const size_t plain = plain_bytes(text);
    if (out.size() + (plain ? plain : 4) > most)
      return out + fmt::format("\n... ({} bytes more)", text.size());
    if (plain)
      out += text.substr(0, plain);
    else
      out += fmt::format("\\{:03}", static_cast<uint8_t>(text[0]));
    text.remove_prefix(plain ? plain : 1);
  }
  return out;
}

bool write_printable(std::FILE* out, const char* text, size_t size) noexcept {
  for (const char* p = text; p < text + size;) {
    const size_t plain = plain_bytes({p, static_cast<size_t>(text + size - p)});
    const bool put = plain ? std::fwrite(p, 1, plain, out) == plain
                           : std::fprintf(out, "\\%03d", static_cast<unsigned char>(*p)) > 0;
    if (!put) return false;
    p += plain ? plain : 1;
  }
  return true;
}

std::string reported(std::string_view text) {
  const size_t end = text.rfind("\nstack traceback:\n");
  if (end == text.npos) return printable(text, kLongestReport);
  const std::string message = printable(text.substr(0, end), kLongestMessage);
  return message + printable(text.substr(end), kLongestReport - message.size());
}

}  // namespace rille::lua
