// Text as numbers, a character at a time: the vocabulary is every code point that occurs, in order
// of code point, and ids count from 0 in it. Bytes that are not UTF-8 are an error, never a guess.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rille::data {

class CharVocab {
 public:
  /// Every character of the text. E_FORMAT with the byte where it is not UTF-8, or where it is
  /// empty.
  static CharVocab of_text(std::string_view text, std::string_view label = "text");
  /// These characters, which must differ; for vocabularies that were saved.
  static CharVocab of_symbols(const std::vector<std::string>& symbols);

  int64_t size() const { return static_cast<int64_t>(symbols_.size()); }
  /// One UTF-8 string a character, by id.
  std::vector<std::string> symbols() const;

  /// E_INDEX naming the character and its byte where it is not in the vocabulary.
  std::vector<int32_t> encode(std::string_view text) const;
  std::vector<int64_t> encode_i64(std::string_view text) const;
  /// E_INDEX naming the position of an id that is out of range.
  std::string decode(const int32_t* ids, size_t count) const;
  std::string decode(const int64_t* ids, size_t count) const;

 private:
  template <class Id>
  std::vector<Id> encode_as(std::string_view text) const;
  template <class Id>
  std::string decode_from(const Id* ids, size_t count) const;
  void index();

  std::vector<char32_t> symbols_;
  std::vector<int32_t> low_;  // ids of the code points below 256, -1 where there is none
  std::unordered_map<char32_t, int32_t> high_;
};

struct CharText {
  CharVocab vocab;
  std::vector<int32_t> ids;
};

/// Reads a file of UTF-8 text. E_IO, or E_FORMAT naming the path and the byte.
CharText read_char_text(const std::string& path);

}  // namespace rille::data
