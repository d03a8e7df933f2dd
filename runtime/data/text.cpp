#include "data/text.h"

#include <algorithm>

#include "core/fail.h"
#include "io/file.h"
#include "io/utf8.h"

namespace rille::data {
namespace {

constexpr char32_t kLow = 256;

/// visit(code point, its byte offset) for every character; E_FORMAT where one is none.
template <class Visit>
void for_each_char(std::string_view text, std::string_view label, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const io::CodePoint c = io::decode_utf8(text, at);
    if (c.bytes == 0)
      throw format_error("'{}' byte {}: not UTF-8, found {:02x}", io::shown(label), at,
                         static_cast<unsigned char>(text[at]));
    visit(c.value, at);
    at += c.bytes;
  }
}

std::string as_utf8(char32_t c) {
  std::string text;
  io::append_utf8(text, c);
  return text;
}

}  // namespace

CharVocab CharVocab::of_text(std::string_view text, std::string_view label) {
  if (text.empty()) throw format_error("'{}' is empty", io::shown(label));
  constexpr size_t kCodePoints = 0x110000;
  std::vector<bool> occurs(kCodePoints);
  for_each_char(text, label, [&](char32_t c, size_t) { occurs[c] = true; });
  CharVocab vocab;
  for (char32_t c = 0; c < kCodePoints; ++c)
    if (occurs[c]) vocab.symbols_.push_back(c);
  vocab.index();
  return vocab;
}

CharVocab CharVocab::of_symbols(const std::vector<std::string>& symbols) {
  CharVocab vocab;
  for (const std::string& s : symbols) {
    const io::CodePoint c = io::decode_utf8(s, 0);
    if (c.bytes == 0 || c.bytes != s.size())
      throw arg_error("a vocabulary holds single characters, got '{}'", io::shown(s, 40));
    vocab.symbols_.push_back(c.value);
  }
  vocab.index();
  return vocab;
}

void CharVocab::index() {
  low_.assign(kLow, -1);
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const char32_t c = symbols_[i];
    const auto id = static_cast<int32_t>(i);
    const bool fresh = c < kLow ? low_[c] < 0 : high_.emplace(c, id).second;
    if (!fresh) throw arg_error("the vocabulary holds '{}' twice", io::shown(as_utf8(c)));
    if (c < kLow) low_[c] = id;
  }
}

std::vector<std::string> CharVocab::symbols() const {
  std::vector<std::string> out;
  for (const char32_t c : symbols_) out.push_back(as_utf8(c));
  return out;
}

template <class Id>
std::vector<Id> CharVocab::encode_as(std::string_view text) const {
  std::vector<Id> ids;
  ids.reserve(text.size());
  for_each_char(text, "text", [&](char32_t c, size_t at) {
    int32_t id = -1;
    if (c < kLow) {
      id = low_.empty() ? -1 : low_[c];
    } else if (const auto it = high_.find(c); it != high_.end()) {
      id = it->second;
    }
    if (id < 0)
      throw index_error("'{}' at byte {} is not in the vocabulary of {}", io::shown(as_utf8(c)), at,
                        size());
    ids.push_back(id);
  });
  return ids;
}

template <class Id>
std::string CharVocab::decode_from(const Id* ids, size_t count) const {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || static_cast<int64_t>(ids[i]) >= size())
      throw index_error("id {} at position {} is out of range, the vocabulary has {}", ids[i], i,
                        size());
    io::append_utf8(out, symbols_[static_cast<size_t>(ids[i])]);
  }
  return out;
}

std::vector<int32_t> CharVocab::encode(std::string_view text) const {
  return encode_as<int32_t>(text);
}
std::vector<int64_t> CharVocab::encode_i64(std::string_view text) const {
  return encode_as<int64_t>(text);
}
std::string CharVocab::decode(const int32_t* ids, size_t count) const {
  return decode_from(ids, count);
}
std::string CharVocab::decode(const int64_t* ids, size_t count) const {
  return decode_from(ids, count);
}

CharText read_char_text(const std::string& path) {
  const std::string text = io::read_text(path, uint64_t{1} << 34);
  CharText out{CharVocab::of_text(text, path), {}};
  out.ids = out.vocab.encode(text);
  return out;
}

}  // namespace rille::data
