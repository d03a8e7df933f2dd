// Text that is fit for a terminal whoever had a hand in it: control bytes, and bytes that are no
// UTF-8, as \ddd; newlines and tabs stay. What is escaped once stays as it is the next time.
#pragma once
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace rille::lua {

/// At most `most` bytes of the result, and how many of the text are not in it.
std::string printable(std::string_view text, size_t most = std::string_view::npos);

/// Writes it in that way as it goes, without memory of its own; false where that fails.
bool write_printable(std::FILE* out, const char* text, size_t size) noexcept;

/// An error's text as the program reports it: not longer than a screen or two, and where a
/// traceback follows a long message, both with their beginnings.
std::string reported(std::string_view text);

}  // namespace rille::lua
