// What a terminal would obey never reaches it, and what people read stays. Which bytes are UTF-8 is
// said by RFC 3629, which characters are controls by Unicode (general category Cc).
#include <catch2/catch.hpp>

#include "interpreter/lua/printable.h"

using rille::lua::printable;
using rille::lua::reported;
using namespace std::string_literals;

TEST_CASE("printable: control characters are numbers") {
  CHECK(printable("\x1b]0;own\x07") == "\\027]0;own\\007");
  CHECK(printable("a\0b\x7f\r"s) == "a\\000b\\127\\013");
  CHECK(printable("a\n\tb") == "a\n\tb");
  CHECK(printable("\xc2\x9b[31m") == "\\194\\155[31m");  // U+009B begins an escape sequence
  CHECK(printable("\xc2\x9f\xc2\xa0") == "\\194\\159\xc2\xa0");
  CHECK(printable("").empty());
}

TEST_CASE("printable: UTF-8 stays, other bytes are numbers") {
  for (const char* fine : {"\xc3\xa9", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(printable(fine) == fine);
  CHECK(printable("\x80") == "\\128");
  CHECK(printable("\xc0\xaf") == "\\192\\175");                    // overlong
  CHECK(printable("\xe0\x9f\xbf") == "\\224\\159\\191");           // overlong
  CHECK(printable("\xed\xa0\x80") == "\\237\\160\\128");           // a surrogate
  CHECK(printable("\xf0\x8f\xbf\xbf") == "\\240\\143\\191\\191");  // overlong
  CHECK(printable("\xf4\x90\x80\x80") == "\\244\\144\\128\\128");  // beyond U+10FFFF
  CHECK(printable("\xe2\x82") == "\\226\\130");                    // cut short
  CHECK(printable("\xc3z\xff") == "\\195z\\255");
}

TEST_CASE("printable: what is escaped stays as it is") {
  const std::string once = printable("\x1b[0m \xff \xc2\x85");
  CHECK(printable(once) == once);
}

TEST_CASE("printable: a cut says how much is missing and breaks no character") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdef", 4) == "abcd\n... (2 bytes more)");
  CHECK(printable("abc\xc3\xa9", 4) == "abc\n... (2 bytes more)");
  CHECK(printable("abc\x1b", 6) == "abc\n... (1 bytes more)");
}

TEST_CASE("reported: four KiB, with the beginning of the traceback") {
  const std::string trace = "\nstack traceback:\n\tf.lua:1: in main chunk";
  CHECK(reported("f.lua:1: no" + trace) == "f.lua:1: no" + trace);
  const std::string message(10000, 'm');
  CHECK(reported(message + trace) == printable(message, 3072) + trace);
  CHECK(reported(message) == std::string(4096, 'm') + "\n... (5904 bytes more)");

  std::string calls = "\nstack traceback:\n";
  for (int i = 0; i < 1000; ++i) calls += "\tf.lua:1: in function 'f'\n";
  const std::string shown = reported("f.lua:1: no" + calls);
  CHECK(shown.starts_with("f.lua:1: no\nstack traceback:\n\tf.lua:1: in function 'f'\n"));
  CHECK(shown.size() < 4096 + 40);
  CHECK(shown.ends_with(" bytes more)"));
  // A message that holds such a line itself.
  CHECK(reported("x\nstack traceback:\n" + message + trace).ends_with(trace));
}
