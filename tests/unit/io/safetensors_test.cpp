#include "io/safetensors.h"

#include <algorithm>
#include <cstring>

#include "core/half.h"
#include "io/json.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::DType;
using rille::Error;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::fixture;
using rille::test::mentions;
using rille::test::TempDir;

namespace {

template <class T>
std::vector<T> values(const SafetensorsFile& file, const char* name) {
  const TensorEntry* e = file.find(name);
  REQUIRE(e);
  std::vector<T> out(e->nbytes / sizeof(T));
  file.read(*e, out.data());
  return out;
}

}  // namespace

// tests/support/fixtures/io/make.py says what the reference library was given.
TEST_CASE("safetensors: a file of the reference library", "[io]") {
  const SafetensorsFile file(fixture("io/mixed.safetensors"));
  CHECK_FALSE(file.checksummed());
  CHECK(file.entries().size() == 12);
  CHECK(file.metadata().at("format") == "np");
  CHECK(file.metadata().at("author") == "caf\xc3\xa9 \"quoted\"\n");
  CHECK(values<float>(file, "weight") == std::vector<float>{-.5f, -.25f, 0, .25f, .5f, .75f});
  CHECK(file.find("weight")->shape == std::vector<int64_t>{2, 3});
  CHECK(values<double>(file, "wide") == std::vector<double>{0, 1e100, 2 * 1e100, 3 * 1e100});
  CHECK(values<int64_t>(file, "ids") == std::vector<int64_t>{-(int64_t{1} << 62), 0, 7});
  CHECK(values<int32_t>(file, "steps") == std::vector<int32_t>{1, -2, 3, -4});
  CHECK(values<int16_t>(file, "short") == std::vector<int16_t>{-300, 300});
  CHECK(values<int8_t>(file, "tiny") == std::vector<int8_t>{-128, 127});
  CHECK(values<uint8_t>(file, "bytes") == std::vector<uint8_t>{0, 1, 2, 3, 4});
  CHECK(values<uint8_t>(file, "mask") == std::vector<uint8_t>{1, 0, 1});
  CHECK(values<uint16_t>(file, "half") == std::vector<uint16_t>{0x3800, 0xc000, 0x7bff});
  CHECK(values<float>(file, "scalar") == std::vector<float>{2.5f});
  CHECK(file.find("scalar")->shape.empty());
  CHECK(file.find("empty")->shape == std::vector<int64_t>{0, 3});
  CHECK(file.find("nothing") == nullptr);
}

TEST_CASE("safetensors: formats that we have not are listed and read raw", "[io]") {
  SafetensorsFile file(fixture("io/mixed.safetensors"));
  const TensorEntry* words = file.find("words");
  REQUIRE(words);
  CHECK(words->tag == "U32");
  CHECK_FALSE(words->dtype);
  uint32_t raw[2];
  file.read_raw(*words, raw);
  CHECK(raw[0] == 1);
  CHECK(raw[1] == 0xffffffffu);
  const Error e = error_of([&] { file.read(*words, raw); });
  CHECK(e.code() == "E_DTYPE");
  CHECK(mentions(e, "U32"));
}

TEST_CASE("safetensors: written in the order and the layout of the reference", "[io]") {
  TempDir dir;
  const SafetensorsFile reference(fixture("io/mixed.safetensors"));
  std::vector<TensorItem> items;
  std::vector<std::vector<char>> data;
  for (const TensorEntry& e : reference.entries()) {
    if (!e.dtype) continue;
    data.emplace_back(e.nbytes);
    reference.read(e, data.back().data());
  }
  size_t k = 0;
  for (const TensorEntry& e : reference.entries())
    if (e.dtype) items.push_back({e.name, *e.dtype, e.shape, data[k++].data()});
  std::reverse(items.begin(), items.end());
  write_safetensors(dir / "ours", items, reference.metadata());

  SafetensorsFile ours(dir / "ours");
  CHECK(ours.checksummed());
  CHECK(ours.metadata() == reference.metadata());
  k = 0;
  for (const TensorEntry& e : reference.entries()) {
    if (!e.dtype) continue;
    const TensorEntry& o = ours.entries()[k];
    CHECK(o.name == e.name);
    CHECK(o.shape == e.shape);
    CHECK(o.dtype == e.dtype);
    const auto* seen = reinterpret_cast<const char*>(ours.view(o));
    CHECK(std::equal(data[k].begin(), data[k].end(), seen));
    ++k;
  }
  ours.verify();

  // One tensor and no metadata: the reference library's bytes exactly.
  const float f4[] = {-.5f, -.25f, 0, .25f, .5f, .75f};
  write_safetensors(dir / "plain", {{"a", DType::f32, {2, 3}, f4}}, {},
                    {.checksums = false, .lock = false});
  CHECK(read_text(dir / "plain") == read_text(fixture("io/plain.safetensors")));
}

TEST_CASE("safetensors: every format, odd names, empty and scalar tensors come back", "[io]") {
  TempDir dir;
  std::vector<unsigned char> bytes(64);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i & 1);
  std::vector<TensorItem> items;
  for (int i = 0; i < rille::kDTypes; ++i) {
    const auto d = static_cast<DType>(i);
    items.push_back({"t." + std::string(name(d)), d, {2, 4}, bytes.data()});
    items.push_back({"zero." + std::to_string(i), d, {0, 5}, nullptr});
    if (!is_packed(d)) items.push_back({"scalar." + std::to_string(i), d, {}, bytes.data()});
  }
  const std::string odd[] = {"",
                             "../x",
                             "/x",
                             std::string("a\0b", 3),
                             "\x1b[2J",
                             "\"\\\n\t",
                             "\xf0\x9f\x98\x80",
                             std::string(4096, '.')};
  for (const std::string& n : odd) items.push_back({n, DType::u8, {1}, bytes.data()});
  const Metadata metadata{{"k\n", "v\x7f"}, {"", ""}, {"rille.tree", "{\"a\":1.5}"}};
  write_safetensors(dir / "f", items, metadata);
  const SafetensorsFile file(dir / "f");
  file.verify();
  CHECK(file.metadata() == metadata);
  REQUIRE(file.entries().size() == items.size());
  for (const TensorItem& item : items) {
    const TensorEntry* e = file.find(item.name);
    REQUIRE(e);
    CHECK(e->dtype == item.dtype);
    CHECK(e->shape == item.shape);
    std::vector<unsigned char> back(e->nbytes + 1);
    file.read(*e, back.data());
    CHECK(std::equal(back.begin(), back.end() - 1, bytes.begin()));
    CHECK(e->offset % size_of(item.dtype) == 0);
  }
}

TEST_CASE("safetensors: the same content gives the same bytes", "[io]") {
  TempDir dir;
  const double x[] = {1, 2};
  const std::vector<TensorItem> items{{"b", DType::f64, {2}, x}, {"a", DType::f64, {1}, x}};
  write_safetensors(dir / "1", items, {{"k", "v"}});
  write_safetensors(dir / "2", {items[1], items[0]}, {{"k", "v"}});
  CHECK(read_text(dir / "1") == read_text(dir / "2"));
}

TEST_CASE("safetensors: what cannot be written", "[io]") {
  TempDir dir;
  write_text_atomic(dir / "f", "old");
  const float x = 1;
  const auto write = [&](std::vector<TensorItem> items, const Metadata& m = {}) {
    return code_of([&] { write_safetensors(dir / "f", items, m); });
  };
  CHECK(write({{"a", DType::f32, {1}, &x}, {"a", DType::f64, {0}, &x}}) == "E_ARG");
  CHECK(write({{"__metadata__", DType::f32, {1}, &x}}) == "E_ARG");
  CHECK(write({{"\xff", DType::f32, {1}, &x}}) == "E_ARG");
  CHECK(write({{std::string(4097, 'n'), DType::f32, {1}, &x}}) == "E_ARG");
  CHECK(write({{"a", DType::f32, {-1}, &x}}) == "E_ARG");
  CHECK(write({{"a", DType::f32, {int64_t{1} << 62, 4}, &x}}) == "E_ARG");
  CHECK(write({}, {{"k", "\xff"}}) == "E_ARG");
  CHECK(write({}, {{"k", std::string(17 << 20, 'v')}}) == "E_ARG");
  CHECK(read_text(dir / "f") == "old");
}

TEST_CASE("safetensors: no tensors at all", "[io]") {
  TempDir dir;
  write_safetensors(dir / "f", {}, {{"note", "only text"}});
  const SafetensorsFile file(dir / "f");
  CHECK(file.entries().empty());
  CHECK(file.metadata().at("note") == "only text");
}

TEST_CASE("safetensors: a lock that is held is waited for, then named", "[io]") {
  TempDir dir;
  const FileLock held(FileLock::path_for(dir / "f"));
  CHECK(code_of([&] { write_safetensors(dir / "f", {}, {}, {.lock_timeout_s = 0.02}); }) ==
        "E_LOCK_TIMEOUT");
  CHECK_FALSE(exists(dir / "f"));
}

TEST_CASE("safetensors: saving under a mapped file leaves the mapping alone", "[io]") {
  TempDir dir;
  std::vector<float> x(5000, 1.5f);
  write_safetensors(dir / "f", {{"x", DType::f32, {5000}, x.data()}});
  SafetensorsFile file(dir / "f");
  const std::byte* mapped = file.view(*file.find("x"));
  write_safetensors(dir / "f", {{"x", DType::f32, {5000}, mapped}});
  CHECK(std::memcmp(mapped, x.data(), 20000) == 0);
  SafetensorsFile(dir / "f").verify();
}
