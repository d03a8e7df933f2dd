// Files of a stranger: each is a typed error, quickly, and nothing is allocated for what is only
// said.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "io/safetensors.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::Error;
using rille::test::error_of;
using rille::test::mentions;
using rille::test::put_file;
using rille::test::TempDir;

namespace {

std::string packed(uint64_t length, const std::string& rest) {
  return std::string(reinterpret_cast<const char*>(&length), 8) + rest;
}
std::string ck(const std::string& json, const std::string& data = "") {
  return packed(json.size(), json) + data;
}
std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}}";
}

Error open_error(const std::string& bytes) {
  static const TempDir dir;
  put_file(dir / "f", bytes);
  return error_of([] { SafetensorsFile file(dir / "f"); });
}

void check_refused(const std::string& bytes, const std::string& word = "") {
  const Error e = open_error(bytes);
  INFO(std::string(e.what()));
  CHECK(e.code() == "E_FORMAT");
  CHECK(mentions(e, "/f'"));
  CHECK(mentions(e, word));
}

void check_accepted(const std::string& bytes) {
  const TempDir dir;
  put_file(dir / "f", bytes);
  CHECK_NOTHROW(SafetensorsFile(dir / "f"));
}

const std::string k16(16, '\0');

}  // namespace

TEST_CASE("hostile safetensors: lengths", "[io]") {
  check_refused("", "byte 0");
  check_refused("1234567");
  check_refused(std::string(8, '\0'), "byte 8");
  check_refused(packed(UINT64_MAX, "{}"), "18446744073709551615");
  check_refused(packed(uint64_t{1} << 63, "{}"));
  check_refused(packed(3, "{}"));
  check_refused(packed(100000001, std::string(1000, ' ')));
  TempDir dir;
  put_file(dir / "sparse", packed(uint64_t{1} << 40, "{}"));
  if (::truncate((dir / "sparse").c_str(), off_t{1} << 43) == 0) {
    const Error e = error_of([&] { SafetensorsFile file(dir / "sparse"); });
    CHECK(mentions(e, "at most 16777216"));
  }
}

TEST_CASE("hostile safetensors: not JSON, or not ours", "[io]") {
  check_refused(ck(" {}"), "byte 8");
  check_refused(ck("\xef\xbb\xbf{}"), "byte 8");
  check_refused(ck("[]"), "byte 8");
  check_refused(ck(std::string("{\0}", 3)), "byte 9");
  check_refused(ck(std::string("{}\0\0", 4)));
  check_refused(ck("{\"\xff\":{}}"));
  check_refused(ck("{\"\\ud800\":{}}"));
  check_refused(ck("{\"a\\u00"));
  check_refused(ck("{} x"));
  check_refused(ck("{}{}"));
  check_refused(ck("{\"a\":" + std::string(1000000, '[')), "found [");
  check_refused(ck("{\"a\":{\"dtype\":" + std::string(100000, '{')));
  check_refused(ck("{\"a\":1}"));
  check_refused(ck("{\"a\":null}"));
  check_refused(ck("{\"a\":[]}"));
  check_refused(ck("{\"a\":{}}"), "lacks dtype");
  check_accepted(ck("{}"));
  check_accepted(ck("{}      "));
}

TEST_CASE("hostile safetensors: repeated and unknown fields", "[io]") {
  const std::string a = "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  check_refused(ck("{" + a + "," + a + "}"), "twice");
  check_refused(
      ck("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"),
      "repeated");
  check_refused(ck("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":1}}"),
                "'x'");
  check_refused(ck("{\"__metadata__\":{},\"__metadata__\":{}}"), "repeated");
  check_refused(ck("{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}"), "repeated");
  check_refused(ck("{\"__metadata__\":[]}"));
  check_refused(ck("{\"__metadata__\":{\"a\":1}}"), "must be text");
  check_refused(ck("{\"__metadata__\":{\"a\":{}}}"), "must be text");
  check_refused(ck("{\"__metadata__\":{\"a\":null}}"));
  check_accepted(ck("{\"__metadata__\":{}}"));
}

TEST_CASE("hostile safetensors: dtypes and sizes", "[io]") {
  check_refused(ck(tensor("\"X9\"", "[4]", "[0,16]"), k16), "X9");
  check_refused(ck(tensor("\"f32\"", "[4]", "[0,16]"), k16));
  check_refused(ck(tensor("7", "[4]", "[0,16]"), k16));
  for (const char* dim : {"-1", "1e3", "1.0", "\"3\"", "9223372036854775808",
                          "18446744073709551617", "true", "null", "[4]", "{}", "-0"})
    check_refused(ck(tensor("\"F32\"", std::string("[") + dim + "]", "[0,16]"), k16));
  check_refused(ck(tensor("\"F32\"", "4", "[0,16]"), k16));
  check_refused(ck(tensor("\"F32\"", "[4]", "[0]"), k16));
  check_refused(ck(tensor("\"F32\"", "[4]", "[0,16,16]"), k16));
  check_refused(ck(tensor("\"F32\"", "[4]", "[-0,16]"), k16));
  check_refused(ck(tensor("\"F32\"", "[4]", "{}"), k16));
  check_refused(ck(tensor("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]", "[0,16]"), k16), "16");
  // Products that wrap round 2^64 to 0, 4 and 2.
  check_refused(ck(tensor("\"U8\"", "[4294967296,4294967296]", "[0,0]")), "impossible shape");
  check_refused(ck(tensor("\"U8\"", "[4194305,4194305,211106198978564]", "[0,4]"), "1234"));
  check_refused(ck(tensor("\"U8\"", "[3,6148914691236517206]", "[0,2]"), "12"));
  check_refused(ck(tensor("\"F64\"", "[2305843009213693952]", "[0,0]")));
  check_refused(ck(tensor("\"F32\"", "[4611686018427387904,4611686018427387904,0]", "[0,0]")));
  check_refused(ck(tensor("\"F4\"", "[3]", "[0,2]"), "12"), "impossible shape");
  check_refused(ck(tensor("\"F6_E2M3\"", "[3]", "[0,3]"), "123"));
  check_accepted(ck(tensor("\"F6_E2M3\"", "[4]", "[0,3]"), "123"));
}

TEST_CASE("hostile safetensors: places", "[io]") {
  const auto two = [](const std::string& first, const std::string& second, size_t data) {
    const auto t = [](const std::string& at) {
      return "{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":" + at + "}";
    };
    return ck("{\"a\":" + t(first) + ",\"b\":" + t(second) + "}", std::string(data, '\0'));
  };
  check_accepted(two("[0,16]", "[16,32]", 32));
  check_accepted(two("[16,32]", "[0,16]", 32));
  check_refused(two("[0,16]", "[8,24]", 24), "'b' begins");
  check_refused(two("[0,16]", "[0,16]", 16), "begins");
  check_refused(two("[0,16]", "[20,36]", 36), "begins");
  check_refused(two("[4,20]", "[20,36]", 36), "begins");
  check_refused(two("[16,0]", "[16,32]", 32));
  check_refused(two("[0,16]", "[16,32]", 31), "ends at byte");
  check_refused(two("[0,16]", "[16,32]", 33), "ends at byte");
  check_refused(ck(tensor("\"F32\"", "[4]", "[18446744073709551600,0]")));
  check_refused(ck(tensor("\"F32\"", "[4]", "[18446744073709551599,18446744073709551615]")));
  check_refused(ck(tensor("\"F32\"", "[3]", "[0,16]"), k16), "of 12 bytes");
  // Empty tensors share the place of the next one.
  check_accepted(
      ck("{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},"
         "\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
         "\"y\":{\"dtype\":\"I8\",\"shape\":[0,7],\"data_offsets\":[16,16]}}",
         k16));
}

TEST_CASE("hostile safetensors: a name of a megabyte, control bytes in messages", "[io]") {
  const auto named = [](const std::string& n) { return ck("{\"" + n + "\":{\"dtype\":\"X\"}}"); };
  check_refused(named(std::string(1 << 20, 'n')), "a name of 1048576 bytes");
  const Error e = open_error(named("\\u001b[2J"));
  CHECK(std::string(e.what()).find('\x1b') == std::string::npos);
  CHECK(mentions(e, "\\x1b[2J"));
}

TEST_CASE("hostile safetensors: a million tiny tensors are refused in linear time", "[io]") {
  std::string json = "{";
  for (int i = 0; json.size() < (15u << 20); ++i) {
    json += '"';
    json += std::to_string(i);
    json += "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},";
  }
  json += "\"z\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}";
  const std::string bytes = ck(json);
  struct rusage before {
  }, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto start = std::chrono::steady_clock::now();
  check_refused(bytes, "more than 131072 tensors");
  const auto took = std::chrono::steady_clock::now() - start;
  ::getrusage(RUSAGE_SELF, &after);
  CHECK(took < std::chrono::seconds(10));
#if !defined(__SANITIZE_THREAD__)  // which has a shadow several times as large as all memory
  CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024);  // kilobytes; the file itself is 15 MiB
#endif
}
