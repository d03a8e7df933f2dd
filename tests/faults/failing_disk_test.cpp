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

void save(const CheckpointFolder& folder, int64_t step) {
  const std::vector<int64_t> x(100, step);
  folder.save(step, {{"x", DType::i64, {100}, x.data()}}, {});
}

bool is_whole(const Checkpoint& c) {
  const SafetensorsFile file(c.path);
  std::vector<int64_t> x(100);
  file.read(*file.find("x"), x.data());
  return x == std::vector<int64_t>(100, c.step);
}

bool has_temporary(const std::string& folder) {
  for (const std::string& name : list_dir(folder))
    if (!target_of_temporary(name).empty()) return true;
  return false;
}

}  // namespace

TEST_CASE("full disk: at every byte of a save", "[faults]") {
  TempDir dir;
  const CheckpointFolder folder(dir / "c", 2);
  save(folder, 1);
  const uint64_t size = file_size(folder.path_for(1));
  const std::vector<std::string> before = list_dir(dir / "c");
  int refused = 0;
  for (uint64_t room = 0; room < size; ++room) {
    disk::watch(dir.path());
    disk::fill_after(room);
    const Error e = error_of([&] { save(folder, 2); });
    CHECK(disk::gave_failure());
    disk::stop();
    REQUIRE(e.code() == "E_IO");
    REQUIRE(mentions(e, folder.path_for(2)));
    REQUIRE(mentions(e, "No space left on device"));
    REQUIRE(mentions(e, "free "));
    REQUIRE(list_dir(dir / "c") == before);
    REQUIRE(folder.newest(true).found->step == 1);
    REQUIRE(is_whole(*folder.newest(true).found));
    ++refused;
  }
  CHECK(refused == static_cast<int>(size));
  save(folder, 2);
  CHECK(is_whole(*folder.newest(true).found));
}

TEST_CASE("failing disk: each call of a save in turn", "[faults]") {
  int given = 0, survived = 0;
  for (const int error : {EIO, ENOSPC, EINTR, EDQUOT, EROFS}) {
    for (const bool sticky : {false, true}) {
      for (int64_t call = 1;; ++call) {
        TempDir dir;
        const CheckpointFolder folder(dir / "c", 2);
        save(folder, 1);
        save(folder, 2);
        disk::watch(dir.path());
        disk::fail_call(call, error, sticky && error != EINTR);
        std::optional<Error> failure;
        try {
          save(folder, 3);
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
        save(folder, 4);
        REQUIRE(folder.newest(true).found->step == 4);
        REQUIRE_FALSE(has_temporary(dir / "c"));
      }
    }
  }
  WARN(given << " failures given, " << survived << " of them without effect");
  CHECK(given > 50);
}
