#include "data/text.h"

#include "io/file.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::data;
using rille::Error;
using rille::io::write_text_atomic;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::mentions;
using rille::test::TempDir;

TEST_CASE("text: vocabulary in order of code point", "[data]") {
  TempDir dir;
  const std::string text = "h\xc3\xa9llo\n\xf0\x9f\x98\x80 w\xe2\x82\xacld";
  write_text_atomic(dir / "f", text);
  const CharText t = read_char_text(dir / "f");
  CHECK(t.vocab.symbols() == std::vector<std::string>{"\n", " ", "d", "h", "l", "o", "w",
                                                      "\xc3\xa9", "\xe2\x82\xac",
                                                      "\xf0\x9f\x98\x80"});
  CHECK(t.ids == std::vector<int32_t>{3, 7, 4, 4, 5, 0, 9, 1, 6, 8, 4, 2});
  CHECK(t.vocab.decode(t.ids.data(), t.ids.size()) == text);
  const std::vector<int64_t> wide = t.vocab.encode_i64("dow");
  CHECK(wide == std::vector<int64_t>{2, 5, 6});
  CHECK(t.vocab.decode(wide.data(), wide.size()) == "dow");
  const CharVocab again = CharVocab::of_symbols(t.vocab.symbols());
  CHECK(again.encode(text) == t.ids);
}

TEST_CASE("text: what is not in the vocabulary", "[data]") {
  const CharVocab v = CharVocab::of_text("ab\xc3\xa9");
  const Error e = error_of([&] { v.encode("ab\xe2\x82\xac"); });
  CHECK(e.code() == "E_INDEX");
  CHECK(mentions(e, "'\xe2\x82\xac' at byte 2"));
  CHECK(code_of([&] { v.encode("abc"); }) == "E_INDEX");
  for (const int64_t bad : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN})
    CHECK(mentions(error_of([&] { v.decode(&bad, 1); }), "position 0"));
  CHECK(code_of([] { CharVocab::of_symbols({"a", "a"}); }) == "E_ARG");
  CHECK(code_of([] { CharVocab::of_symbols({"ab"}); }) == "E_ARG");
  CHECK(code_of([] { CharVocab::of_symbols({""}); }) == "E_ARG");
}

TEST_CASE("text: invalid and empty files", "[data]") {
  TempDir dir;
  write_text_atomic(dir / "f", "good\xc3(bad");
  const Error e = error_of([&] { read_char_text(dir / "f"); });
  CHECK(e.code() == "E_FORMAT");
  CHECK(mentions(e, dir / "f' byte 4"));
  write_text_atomic(dir / "f", "");
  CHECK(mentions(error_of([&] { read_char_text(dir / "f"); }), "is empty"));
  CHECK(code_of([&] { read_char_text(dir / "none"); }) == "E_IO");
}
