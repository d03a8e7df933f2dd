#include "io/checkpoints.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::DType;
using rille::Error;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::mentions;
using rille::test::TempDir;

namespace {

void save(const CheckpointFolder& folder, int64_t step) {
  const int64_t x[] = {step, -step};
  folder.save(step, {{"x", DType::i64, {2}, x}}, {});
}

void damage(const std::string& path) {
  std::string bytes = read_text(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text_atomic(path, bytes);
}

std::vector<int64_t> steps(const CheckpointFolder& folder) {
  std::vector<int64_t> out;
  for (const Checkpoint& c : folder.list()) out.push_back(c.step);
  return out;
}

}  // namespace

TEST_CASE("checkpoints: the newest stay, last points to the newest", "[io]") {
  TempDir dir;
  const CheckpointFolder folder(dir / "run/checkpoints", 3);
  CHECK(folder.list().empty());
  CHECK_FALSE(folder.newest().found);
  for (const int64_t step : {5, 9, 10, 100, 1000}) save(folder, step);
  CHECK(steps(folder) == std::vector<int64_t>{10, 100, 1000});
  CHECK(folder.newest().found->step == 1000);
  const SafetensorsFile last(folder.last_path());
  int64_t x[2];
  last.read(*last.find("x"), x);
  CHECK(x[1] == -1000);
}

TEST_CASE("checkpoints: other names in the folder do not count", "[io]") {
  TempDir dir;
  const CheckpointFolder folder(dir / "c", 1);
  save(folder, 1);
  for (const char* name : {"step-.safetensors", "step-01.safetensors", "step--2.safetensors",
                           "step-7.safetensors.broken", "step-7x.safetensors", "step-8.txt",
                           "step-99999999999999999999.safetensors", "notes"})
    write_text_atomic(dir / ("c/" + std::string(name)), "mine");
  save(folder, 2);
  CHECK(steps(folder) == std::vector<int64_t>{2});
  CHECK(read_text(dir / "c/notes") == "mine");
  CHECK(read_text(dir / "c/step-01.safetensors") == "mine");
}

TEST_CASE("checkpoints: falls back to the one before, with the reason", "[io]") {
  TempDir dir;
  const CheckpointFolder folder(dir / "c", 3);
  for (const int64_t step : {1, 2, 3}) save(folder, step);
  damage(folder.path_for(3));
  Newest newest = folder.newest();
  CHECK(newest.found->step == 2);
  REQUIRE(newest.rejected.size() == 1);
  CHECK(newest.rejected[0].path == folder.path_for(3));
  CHECK(newest.rejected[0].reason.find("'x' fails its checksum") != std::string::npos);
  CHECK(error_of([&] { folder.newest(true); }).code() == "E_CKPT_TORN");

  CHECK(read_text(folder.quarantine(folder.path_for(3))).size() > 8);
  newest = folder.newest(true);
  CHECK(newest.found->step == 2);

  write_text_atomic(folder.path_for(2), "");
  damage(folder.path_for(1));
  const Error none = error_of([&] { folder.newest(); });
  CHECK(none.code() == "E_CKPT_TORN");
  CHECK(mentions(none, folder.path_for(1)));
  CHECK(mentions(none, folder.path_for(2)));
}

TEST_CASE("checkpoints: what was just saved is never rotated away", "[io]") {
  TempDir dir;
  const CheckpointFolder folder(dir / "c", 2);
  for (const int64_t step : {100, 200}) save(folder, step);
  save(folder, 50);  // a run that went back
  CHECK(steps(folder) == std::vector<int64_t>{50, 200});
}

TEST_CASE("checkpoints: bad arguments", "[io]") {
  TempDir dir;
  CHECK(code_of([&] { CheckpointFolder(dir / "c", 0); }) == "E_ARG");
  CHECK(code_of([&] { CheckpointFolder("", 1); }) == "E_IO");
  CHECK(code_of([&] { save(CheckpointFolder(dir / "c"), -1); }) == "E_ARG");
}

TEST_CASE("checkpoints: processes save and read at once, nobody sees a torn file", "[io]") {
  TempDir dir;
  constexpr int kProcesses = 4;
  const CheckpointFolder folder(dir / "c", 2);
  save(folder, 0);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    try {
      for (int64_t i = 1; i <= 15; ++i) {
        save(folder, i * kProcesses + p);
        if (!folder.newest(true).found) ::_exit(1);
        SafetensorsFile(folder.last_path()).verify();
      }
      ::_exit(0);
    } catch (const std::exception& e) {
      (void)!::write(2, e.what(), std::char_traits<char>::length(e.what()));
      ::_exit(2);
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}
