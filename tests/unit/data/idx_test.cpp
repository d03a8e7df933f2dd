#include "data/idx.h"

#include <cstring>

#include "io/file.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::data;
using rille::DType;
using rille::Error;
using rille::io::read_text;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::fixture;
using rille::test::mentions;
using rille::test::put_file;
using rille::test::TempDir;

namespace {

template <class T>
std::vector<T> values(const IdxArray& a) {
  std::vector<T> out(a.bytes.size() / sizeof(T));
  std::memcpy(out.data(), a.bytes.data(), a.bytes.size());
  return out;
}

std::string idx(unsigned char type, const std::vector<uint32_t>& sizes, const std::string& data) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const uint32_t n : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift);
  return out + data;
}

}  // namespace

TEST_CASE("idx: plain and gzip files", "[data]") {
  for (const char* name : {"io/images.idx3-ubyte", "io/images.idx3-ubyte.gz"}) {
    const IdxArray a = read_idx(fixture(name));
    CHECK(a.dtype == DType::u8);
    CHECK(a.shape == std::vector<int64_t>{2, 3, 3});
    REQUIRE(a.bytes.size() == 18);
    for (size_t i = 0; i < 18; ++i) CHECK(static_cast<size_t>(a.bytes[i]) == i);
  }
  const IdxArray ints = read_idx(fixture("io/i32.idx"));
  CHECK(ints.dtype == DType::i32);
  CHECK(values<int32_t>(ints) == std::vector<int32_t>{-1, 2, 1 << 30});
  const IdxArray doubles = read_idx(fixture("io/f64.idx"));
  CHECK(doubles.shape == std::vector<int64_t>{2, 1});
  CHECK(values<double>(doubles) == std::vector<double>{0.1, -1e300});
}

TEST_CASE("idx: the other element types", "[data]") {
  TempDir dir;
  put_file(dir / "f", idx(0x0b, {2}, std::string("\x01\x02\xff\xfe", 4)));
  CHECK(values<int16_t>(read_idx(dir / "f")) == std::vector<int16_t>{258, -2});
  put_file(dir / "f", idx(0x0d, {1}, std::string("\x3f\x80\x00\x00", 4)));
  CHECK(values<float>(read_idx(dir / "f")) == std::vector<float>{1.0f});
  put_file(dir / "f", idx(0x09, {2}, "\x80\x7f"));
  CHECK(values<int8_t>(read_idx(dir / "f")) == std::vector<int8_t>{-128, 127});
  put_file(dir / "f", idx(0x08, {0, 28, 28}, ""));
  CHECK(read_idx(dir / "f").bytes.empty());
}

TEST_CASE("idx: broken files say where and what", "[data]") {
  TempDir dir;
  const auto error = [&](const std::string& bytes) {
    put_file(dir / "f", bytes);
    return error_of([&] { read_idx(dir / "f"); });
  };
  const auto check = [&](const std::string& bytes, const char* word) {
    const Error e = error(bytes);
    INFO(std::string(e.what()));
    CHECK(e.code() == "E_FORMAT");
    CHECK(mentions(e, dir / "f"));
    CHECK(mentions(e, word));
  };
  check("", "byte 0");
  check("PK\x03\x04", "found 504b, wanted 0000");
  check(idx(0x0a, {1}, "x"), "byte 2: element type 0a");
  check(idx(0x08, std::vector<uint32_t>(17, 1), "x"), "byte 3: 17 dimensions");
  check(idx(0x08, {3}, "xx"), "wanted 3 bytes at 8");
  check(idx(0x08, {3}, "xxxx"), "goes on after byte 11");
  check(idx(0x08, {0xffffffff, 0xffffffff, 0xffffffff}, "x"), "byte 4");
  check(idx(0x0e, {0xffffffff}, "x"), "byte 4");
  check(idx(0x0e, {0x10000000}, "x"), "wanted 2147483648 bytes");
  put_file(dir / "f", idx(0x08, {3}, "xxx"));
  CHECK(code_of([&] { read_idx(dir / "f", 2); }) == "E_FORMAT");
}

TEST_CASE("idx: gzip cut at every length, every byte damaged", "[data]") {
  TempDir dir;
  const std::string good = read_text(fixture("io/images.idx3-ubyte.gz"));
  for (size_t n = 0; n < good.size(); ++n) {
    put_file(dir / "f", good.substr(0, n));
    REQUIRE(code_of([&] { read_idx(dir / "f"); }) == "E_FORMAT");
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    put_file(dir / "f", bad);
    IdxArray a;
    const std::string code = code_of([&] { a = read_idx(dir / "f"); });
    INFO("byte " << at);
    // gzip's own time and system fields mean nothing; everything else is under its checksum.
    if (code.empty())
      REQUIRE((at >= 4 && at < 10 && a.bytes.size() == 18));
    else
      REQUIRE(code == "E_FORMAT");
  }
  put_file(dir / "f", good + "junk");
  CHECK(code_of([&] { read_idx(dir / "f"); }) == "E_FORMAT");
}
