#include "io/utf8.h"

#include <catch2/catch.hpp>

using namespace rille::io;

TEST_CASE("utf8: every code point survives", "[io]") {
  for (char32_t c = 0; c <= 0x10ffff; c += (c < 0x3000 ? 1 : 61)) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    append_utf8(text, c);
    const CodePoint back = decode_utf8(text, 0);
    REQUIRE(back.value == c);
    REQUIRE(back.bytes == text.size());
  }
}

// The table of well-formed sequences in the Unicode standard (3-7) says which lead and second bytes
// are allowed; these stand just outside it.
TEST_CASE("utf8: malformed sequences are refused", "[io]") {
  const std::string bad[] = {
      "\x80",         "\xbf",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
      "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
      "\xff",         "\xc3",         "\xe2\x82",         "\xf0\x9f\x98",     "\xc3\x28"};
  for (const std::string& text : bad) CHECK(decode_utf8(text, 0).bytes == 0);
  CHECK(first_invalid_utf8("caf\xc3\xa9") == std::string_view::npos);
  CHECK(first_invalid_utf8("caf\xe9!") == 3);
}

TEST_CASE("utf8: messages never carry control bytes", "[io]") {
  CHECK(shown("\x1b]0;own\x07") == "\\x1b]0;own\\x07");
  CHECK(shown(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(shown("\xff") == "\\xff");
  CHECK(shown("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(shown(std::string(5000, 'x'), 100).size() == 103);
}
