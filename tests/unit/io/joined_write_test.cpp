// Many parts as one run of bytes in a file, whether it goes past the page cache or not.
#include "io/joined_write.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "io/crc32c.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::test::TempDir;

namespace {

std::string noise(size_t bytes, std::mt19937_64& random) {
  std::string s(bytes, '\0');
  for (char& c : s) c = static_cast<char>(random());
  return s;
}

void check_joined(const std::string& path, const std::vector<size_t>& sizes, uint64_t start) {
  std::mt19937_64 random(sizes.size() + start);
  std::vector<std::string> texts;
  std::vector<Part> parts;
  std::string expected = noise(start, random);
  const std::string header = expected;
  for (const size_t n : sizes) texts.push_back(noise(n, random));
  for (const std::string& t : texts) {
    parts.push_back({t.data(), t.size()});
    expected += t;
  }
  {
    AtomicFile file(path);
    file.reserve(expected.size());
    const std::vector<uint32_t> crcs = write_joined(file, start, parts, true);
    REQUIRE(crcs.size() == texts.size());
    for (size_t i = 0; i < texts.size(); ++i)
      CHECK(crcs[i] == crc32c_tables(texts[i].data(), texts[i].size()));
    file.write_at(header.data(), header.size(), 0);
    file.commit();
  }
  CHECK((read_text(path) == expected));  // not shown: megabytes
}

}  // namespace

TEST_CASE("joined write: the parts behind each other, and their sums", "[io]") {
  // The folder of temporary files is on a disk as a rule; the other one is memory.
  TempDir dir;
  std::vector<std::string> paths{dir / "file"};
  if (std::filesystem::is_directory("/dev/shm")) paths.push_back("/dev/shm/rille-joined-write");
  constexpr size_t mega = size_t{1} << 20;
  for (const std::string& path : paths)
    for (const uint64_t start : {0u, 8u, 4096u, 5000u}) {
      check_joined(path, {}, start);
      check_joined(path, {0, 1, 0, 7}, start);
      check_joined(path, {3 * mega, 1, 5 * mega + 13, 0, 4096, 100, 2 * mega}, start);
      check_joined(path, {4 * mega - start, 4 * mega, 1}, start);
      check_joined(path, {9 * mega - start}, start);
    }
  remove_file("/dev/shm/rille-joined-write");
}
