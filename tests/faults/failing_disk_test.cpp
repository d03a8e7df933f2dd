// Saves onto a disk that is full or fails: a typed error that names the file, the checkpoint of
// before as it was, no temporary left, and the next save works.
#include <catch2/catch.hpp>
#include <cerrno>

#include "io/checkpoints.h"
#include "support/disk.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using namespace rille::test;
using rille::DType;
using rille::Error;
using rille::Kind;

namespace {

constexpr size_t kSmall = 100;
constexpr size_t kLarge = 700'000;  // goes to the disk in two pieces, past the page cache

void save(const CheckpointFolder& folder, int64_t step, size_t numbers = kSmall) {
  const std::vector<int64_t> x(numbers, step);
  folder.save(step, {{"x", DType::i64, {static_cast<int64_t>(numbers)}, x.data()}}, {});
}

bool is_whole(const Checkpoint& c) {
  const SafetensorsFile file(c.path);
  std::vector<int64_t> x(file.find("x")->nbytes / sizeof(int64_t));
  file.read(*file.find("x"), x.data());
  return x == std::vector<int64_t>(x.size(), c.step);
}

bool has_temporary(const std::string& folder) {
  for (const std::string& name : list_dir(folder))
    if (!target_of_temporary(name).empty()) return true;
  return false;
}

}  // namespace

TEST_CASE("full disk: at every byte of a save, and all along a large one", "[faults]") {
  const size_t numbers = GENERATE(kSmall, kLarge);
  TempDir dir;
  const CheckpointFolder folder(dir / "c", 2);
  save(folder, 1, numbers);
  const uint64_t size = file_size(folder.path_for(1)), step = numbers == kSmall ? 1 : size / 97;
  const std::vector<std::string> before = list_dir(dir / "c");
  int refused = 0;
  for (uint64_t room = 0; room < size; room += step) {
    disk::watch(dir.path());
    disk::fill_after(room);
    const Error e = error_of([&] { save(folder, 2, numbers); });
    CHECK(disk::gave_failure());
    disk::stop();
    REQUIRE(e.code() == "E_IO");
    REQUIRE(mentions(e, folder.path_for(2)));
    REQUIRE(mentions(e, "No space left on device"));
    REQUIRE(mentions(e, "needed       " + std::to_string(size) + " bytes"));
    REQUIRE(mentions(e, "free "));
    REQUIRE(list_dir(dir / "c") == before);
    REQUIRE(folder.newest(true).found->step == 1);
    REQUIRE(is_whole(*folder.newest(true).found));
    ++refused;
  }
  CHECK(refused >= 97);
  save(folder, 2, numbers);
  CHECK(is_whole(*folder.newest(true).found));
}

TEST_CASE("failing disk: each call of a save in turn", "[faults]") {
  const size_t numbers = GENERATE(kSmall, kLarge);
  int given = 0, survived = 0;
  for (const int error : {EIO, ENOSPC, EINTR, EDQUOT, EROFS}) {
    for (const bool sticky : {false, true}) {
      for (int64_t call = 1;; ++call) {
        TempDir dir;
        const CheckpointFolder folder(dir / "c", 2);
        save(folder, 1, numbers);
        save(folder, 2, numbers);
        disk::watch(dir.path());
        disk::fail_call(call, error, sticky && error != EINTR);
        std::optional<Error> failure;
        try {
          save(folder, 3, numbers);
        } catch (const Error& e) {
          failure = e;
        }
        const bool met = disk::gave_failure();
        disk::stop();
        INFO("error " << error << ", call " << call << ", sticky " << sticky);
        if (!met) {
          REQUIRE_FALSE(failure);
          break;
        }
        ++given;
        if (!failure) ++survived;
        if (failure) REQUIRE(failure->kind() == Kind::data);
        if (failure) REQUIRE(mentions(*failure, dir / "c"));
        const Newest newest = folder.newest(true);
        REQUIRE(newest.found->step >= (failure ? 2 : 3));
        REQUIRE(is_whole(*newest.found));
        REQUIRE(folder.list().size() >= 2);  // a generation to fall back to
        if (!sticky) REQUIRE_FALSE(has_temporary(dir / "c"));
        save(folder, 4, numbers);
        REQUIRE(folder.newest(true).found->step == 4);
        REQUIRE_FALSE(has_temporary(dir / "c"));
      }
    }
  }
  WARN(given << " failures given, " << survived << " of them without effect");
  CHECK(given > 50);
}
