#include "io/npy.h"

#include <cstring>
#include <numeric>

#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::DType;
using rille::Error;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::fixture;
using rille::test::mentions;
using rille::test::put_file;
using rille::test::TempDir;

namespace {

template <class T>
std::vector<T> values(NpyReader reader) {
  std::vector<T> out(reader.info().nbytes / sizeof(T));
  reader.read(out.data());
  return out;
}
template <class T>
std::vector<T> from_file(const char* name) {
  return values<T>(open_npy(fixture(std::string("io/") + name)));
}

std::vector<int64_t> shape_of(const char* name) {
  return open_npy(fixture(std::string("io/") + name)).info().shape;
}

std::string with_dict(const std::string& dict, const std::string& data = "", char version = 1) {
  std::string out = "\x93NUMPY";
  out +=
      {version, '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  if (version > 1) out += {'\0', '\0'};
  return out + dict + data;
}

const std::vector<float> kF4{-.5f, -.25f, 0, .25f, .5f, .75f};

}  // namespace

// tests/support/fixtures/io/make.py says what numpy was given.
TEST_CASE("npy: files of numpy", "[io]") {
  CHECK(from_file<float>("f4.npy") == kF4);
  CHECK(shape_of("f4.npy") == std::vector<int64_t>{2, 3});
  std::vector<double> counted(24);
  std::iota(counted.begin(), counted.end(), 0.0);
  CHECK(open_npy(fixture("io/fortran.npy")).info().fortran);
  CHECK(from_file<double>("fortran.npy") == counted);
  CHECK(shape_of("fortran.npy") == std::vector<int64_t>{2, 3, 4});
  CHECK(from_file<int32_t>("big_endian.npy") == std::vector<int32_t>{-2, -1, 0, 1, 2});
  CHECK(from_file<int64_t>("scalar.npy") == std::vector<int64_t>{-3});
  CHECK(shape_of("scalar.npy").empty());
  CHECK(open_npy(fixture("io/mask.npy")).info().dtype == DType::boolean);
  CHECK(from_file<uint8_t>("mask.npy") == std::vector<uint8_t>{1, 0, 0, 1});
  CHECK(from_file<uint16_t>("empty.npy").empty());
  CHECK(shape_of("empty.npy") == std::vector<int64_t>{0, 2});
  CHECK(from_file<int16_t>("version2.npy") == std::vector<int16_t>{0, 1, 2});
}

TEST_CASE("npy: types that we have not", "[io]") {
  const Error object = error_of([] { open_npy(fixture("io/object.npy")); });
  CHECK(object.code() == "E_DTYPE");
  CHECK(mentions(object, "|O"));
  CHECK(mentions(error_of([] { open_npy(fixture("io/complex.npy")); }), "<c8"));
  TempDir dir;
  const uint16_t x = 0;
  CHECK(code_of([&] { write_npy(dir / "f", {DType::bf16, {1}, &x}); }) == "E_DTYPE");
}

TEST_CASE("npy: numpy's bytes exactly", "[io]") {
  TempDir dir;
  write_npy(dir / "a", {DType::f32, {2, 3}, kF4.data()});
  CHECK(read_text(dir / "a") == read_text(fixture("io/f4.npy")));
  const int64_t minus3 = -3;
  write_npy(dir / "a", {DType::i64, {}, &minus3});
  CHECK(read_text(dir / "a") == read_text(fixture("io/scalar.npy")));
  const uint8_t mask[] = {1, 0, 0, 1};
  write_npy(dir / "a", {DType::boolean, {4}, mask});
  CHECK(read_text(dir / "a") == read_text(fixture("io/mask.npy")));
  write_npy(dir / "a", {DType::f16, {0, 2}, nullptr});
  CHECK(read_text(dir / "a") == read_text(fixture("io/empty.npy")));
}

TEST_CASE("npy: hostile headers", "[io]") {
  TempDir dir;
  const auto open = [&](const std::string& bytes) {
    put_file(dir / "f", bytes);
    return code_of([&] { open_npy(dir / "f"); });
  };
  const auto sized = [](const std::string& shape) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  };
  CHECK(open(with_dict(sized("(1,)"), "1234")).empty());
  CHECK(open(with_dict(sized("( 1 , )"), "1234", 3)).empty());
  CHECK(open(with_dict("{'shape':(1,),\"descr\":'<f4','fortran_order':True}", "1234")).empty());
  for (const std::string& shape :
       {std::string("(-1,)"), std::string("(1.0,)"), std::string("(1"), std::string("1"),
        std::string("()x"), std::string("(4294967296, 4294967296)"),
        std::string("(4611686018427387904, 4611686018427387904, 0)"),
        std::string("(99999999999999999999,)"), std::string("(1000000,)"),
        std::string("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), std::string("(True,)")})
    CHECK(open(with_dict(sized(shape), "1234")) == "E_FORMAT");
  for (const char* dict :
       {"", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'descr': '<f4'}", "[]",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + evil", "{'descr': '<f4"})
    CHECK(open(with_dict(dict, "1234")) == "E_FORMAT");
  for (const char* descr : {"'O'", "'<U3'", "'<u4'", "'|V8'", "''", "[('a', '<f4')]", "'<M8[ns]'"})
    CHECK(open(with_dict(
              "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (1,)}",
              "1234")) == "E_DTYPE");
  CHECK(open(with_dict(sized("(1,)"), "1234", 4)) == "E_FORMAT");
  std::string lies = with_dict(sized("(1,)"), "1234");
  lies[8] = lies[9] = '\xff';
  CHECK(open(lies) == "E_FORMAT");
}

TEST_CASE("npy: every length that a file can be cut to, and bytes behind the end", "[io]") {
  TempDir dir;
  const std::string good = read_text(fixture("io/f4.npy"));
  float x[6];
  for (size_t n = 0; n <= good.size() + 1; ++n) {
    if (n == good.size()) continue;
    put_file(dir / "f", n < good.size() ? good.substr(0, n) : good + "x");
    REQUIRE(code_of([&] { open_npy(dir / "f").read(x); }) == "E_FORMAT");
  }
}

TEST_CASE("npz: files of numpy, stored and deflated", "[io]") {
  for (const char* name : {"io/stored.npz", "io/deflated.npz"}) {
    const NpzFile file(fixture(name));
    CHECK(file.names() == std::vector<std::string>{"x", "labels", "mask"});
    CHECK(values<float>(file.open("x")) == kF4);
    const std::vector<int64_t> labels = values<int64_t>(file.open("labels"));
    REQUIRE(labels.size() == 300);
    for (size_t i = 0; i < labels.size(); ++i) CHECK(labels[i] == static_cast<int64_t>(i % 10));
    CHECK(values<uint8_t>(file.open("mask")) == std::vector<uint8_t>{1, 0});
    CHECK(code_of([&] { file.open("y"); }) == "E_ARG");
  }
}

TEST_CASE("npz: our own files come back", "[io]") {
  TempDir dir;
  std::vector<int32_t> big(200000);
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<int32_t>(i * 2654435761u);
  for (const bool compress : {false, true})
    for (const bool zip64 : {false, true}) {
      write_npz(dir / "f",
                {{"big", {DType::i32, {500, 400}, big.data()}},
                 {"caf\xc3\xa9", {DType::f32, {6}, kF4.data()}},
                 {"none", {DType::f64, {0}, nullptr}}},
                {.compress = compress, .zip64 = zip64});
      const NpzFile file(dir / "f");
      CHECK(file.names() == std::vector<std::string>{"big", "caf\xc3\xa9", "none"});
      CHECK(values<int32_t>(file.open("big")) == big);
      CHECK(values<float>(file.open("caf\xc3\xa9")) == kF4);
      CHECK(values<double>(file.open("none")).empty());
    }
  write_npz(dir / "f", {});
  CHECK(NpzFile(dir / "f").names().empty());
  const NpyArray a{DType::f32, {6}, kF4.data()};
  CHECK(code_of([&] { write_npz(dir / "f", {{"a", a}, {"a", a}}); }) == "E_ARG");
}

TEST_CASE("npz: every byte damaged, every length cut: the same arrays or a typed error", "[io]") {
  TempDir dir;
  write_npz(dir / "good", {{"x", {DType::f32, {6}, kF4.data()}}}, {.compress = true});
  const std::string good = read_text(dir / "good");
  const auto outcome = [&](const std::string& bytes) -> std::string {
    put_file(dir / "bad", bytes);
    return code_of([&] {
      const NpzFile file(dir / "bad");
      for (const std::string& n : file.names())
        if (values<float>(file.open(n)) != kF4) throw std::runtime_error("other values");
    });
  };
  CHECK(outcome(good).empty());
  for (size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      const std::string code = outcome(bad);
      INFO("byte " << at << " bit " << bit << " code " << code);
      REQUIRE((code.empty() || code == "E_FORMAT" || code == "E_DTYPE" || code == "E_IO"));
    }
  for (size_t n = 0; n < good.size(); ++n) REQUIRE(outcome(good.substr(0, n)) == "E_FORMAT");
}

TEST_CASE("npz: a bomb costs no more memory than its header can prove", "[io]") {
  TempDir dir;
  // 4 MiB of zeros pack to 4 KiB; the directory is made to say 2 GiB, and so is the array.
  std::vector<char> zeros(4 << 20);
  write_npz(dir / "f", {{"x", {DType::u8, {4 << 20}, zeros.data()}}}, {.compress = true});
  std::string bytes = read_text(dir / "f");
  const size_t central = bytes.rfind("PK\x01\x02");
  const uint32_t lie = uint32_t{1} << 31;
  std::memcpy(&bytes[central + 24], &lie, 4);
  put_file(dir / "f", bytes);
  std::vector<char> out(4 << 20);
  CHECK(code_of([&] { NpzFile(dir / "f").open("x").read(out.data()); }) == "E_FORMAT");
}
