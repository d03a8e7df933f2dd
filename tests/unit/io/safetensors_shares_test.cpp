// Large files: what threads write and read in shares, and mapped tensors.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "core/threads.h"
#include "io/safetensors.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::DType;
using rille::test::code_of;
using rille::test::TempDir;

namespace {

constexpr int64_t kLong = 2'500'003, kShort = 7;

// Two tensors over several shares, one within a share, one without bytes.
struct Sample {
  std::vector<float> a = std::vector<float>(kLong), b = std::vector<float>(kLong);
  std::vector<double> c = std::vector<double>(kShort);
  Sample() {
    std::iota(a.begin(), a.end(), 0.5f);
    std::iota(b.rbegin(), b.rend(), -3.0f);
    std::iota(c.begin(), c.end(), 1e100);
  }
  std::vector<TensorItem> items() const {
    return {{"a", DType::f32, {kLong}, a.data()},
            {"b", DType::f32, {kLong}, b.data()},
            {"c", DType::f64, {kShort}, c.data()},
            {"none", DType::i64, {0}, nullptr}};
  }
};

struct Loaded {
  explicit Loaded(const std::string& path) : file(path) {}
  SafetensorsFile file;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::shared_ptr<std::byte>> mapped;
  std::vector<SafetensorsFile::Target> targets;

  void read() {
    for (const TensorEntry& e : file.entries()) {
      memory.emplace_back(e.nbytes);
      targets.push_back({&e, memory.back().data()});
    }
    file.read_all(targets);
  }
  void map() {
    for (const TensorEntry& e : file.entries()) {
      mapped.push_back(file.map(e));
      targets.push_back({&e, mapped.back().get()});
    }
    file.verify_mapped(targets);
  }
  bool holds(const Sample& s) const {
    const auto items = s.items();
    return std::all_of(targets.begin(), targets.end(), [&](const auto& t) {
      const auto item = std::find_if(items.begin(), items.end(),
                                     [&](const auto& i) { return i.name == t.entry->name; });
      return t.entry->nbytes == 0 || std::memcmp(item->data, t.data, t.entry->nbytes) == 0;
    });
  }
};

}  // namespace

TEST_CASE("safetensors: shares of any number of threads make the same file", "[io]") {
  const int before = rille::threads();
  TempDir dir;
  const Sample sample;
  std::string first;
  for (const int n : {1, 2, 4}) {
    rille::set_threads(n);
    write_safetensors(dir / "f", sample.items(), {{"step", "7"}});
    const std::string bytes = read_text(dir / "f");
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
    Loaded read(dir / "f"), mapped(dir / "f");
    CHECK(read.file.metadata() == Metadata{{"step", "7"}});
    read.read();
    CHECK(read.holds(sample));
    mapped.map();
    CHECK(mapped.holds(sample));
    read.file.verify();
  }
  rille::set_threads(before);
}

TEST_CASE("safetensors: a flipped bit in a later share is seen by both ways to load", "[io]") {
  TempDir dir;
  write_safetensors(dir / "f", Sample().items());
  std::string bytes = read_text(dir / "f");
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 16);
  write_text_atomic(dir / "f", bytes);
  CHECK(code_of([&] { Loaded(dir / "f").read(); }) == "E_CKPT_TORN");
  CHECK(code_of([&] { Loaded(dir / "f").map(); }) == "E_CKPT_TORN");
}

TEST_CASE("safetensors: writing to mapped tensors changes neither the file nor others", "[io]") {
  TempDir dir;
  const Sample sample;
  write_safetensors(dir / "f", sample.items());
  const std::string bytes = read_text(dir / "f");
  std::shared_ptr<std::byte> kept;
  {
    Loaded one(dir / "f"), other(dir / "f");
    one.map();
    other.map();
    for (const auto& t : one.targets) std::memset(t.data, 1, t.entry->nbytes);
    CHECK_FALSE(one.holds(sample));
    CHECK(other.holds(sample));
    kept = one.mapped[1];
  }
  CHECK(read_text(dir / "f") == bytes);
  remove_file(dir / "f");
  CHECK(kept.get()[100] == std::byte{1});  // the mapping outlives file and reader
}

#if defined(MADV_POPULATE_READ)
TEST_CASE("safetensors: a file cut short after it was opened is an error", "[io]") {
  alignas(64) static char probe[1 << 14];
  char* page = probe + (1 << 12) - reinterpret_cast<uintptr_t>(probe) % (1 << 12);
  if (::madvise(page, 1 << 12, MADV_POPULATE_READ) != 0) return;  // an older kernel
  TempDir dir;
  write_safetensors(dir / "f", Sample().items());
  Loaded read(dir / "f"), mapped(dir / "f");
  REQUIRE(::truncate((dir / "f").c_str(), 1 << 20) == 0);
  CHECK(code_of([&] { read.read(); }) == "E_FORMAT");
  CHECK(code_of([&] { mapped.map(); }) == "E_IO");
}
#endif
