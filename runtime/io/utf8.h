// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. Names from
// files and scripts pass through shown() before they reach a message, so that a terminal never
// obeys them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace rille::io {

/// One character of a text; `bytes` is 0 where the text is not UTF-8 or ends.
struct CodePoint {
  char32_t value = 0;
  uint8_t bytes = 0;
};
CodePoint decode_utf8(std::string_view text, size_t at);
void append_utf8(std::string& out, char32_t c);

/// Offset of the first byte that is not UTF-8; npos where all of it is.
size_t first_invalid_utf8(std::string_view text);
inline bool is_utf8(std::string_view text) {
  return first_invalid_utf8(text) == std::string_view::npos;
}

/// The text for a message: control bytes and invalid ones as \xNN, cut after `limit` bytes.
std::string shown(std::string_view text, size_t limit = 200);

}  // namespace rille::io
