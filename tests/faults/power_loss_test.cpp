// The power goes during a save: whatever a file system may leave of what was not synced, the newest
// checkpoint is whole and no save that was reported is lost.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>

#include "core/error.h"
#include "io/checkpoints.h"
#include "support/crash.h"
#include "support/temp_dir.h"

using namespace rille::io;
using namespace rille::test;
using rille::DType;
using rille::Error;

namespace {

constexpr int64_t kCells = 640;  // of 8 bytes: ten blocks of the disk

std::vector<int64_t> content(int64_t step) {
  std::vector<int64_t> x(kCells);
  for (int64_t i = 0; i < kCells; ++i) x[static_cast<size_t>(i)] = step * 1000 + i;
  return x;
}

/// Eight saves into a folder that is not there yet, two of them kept; a mark for each that
/// returned.
std::vector<disk::Op> recorded_run() {
  TempDir dir;
  disk::watch(dir.path());
  const CheckpointFolder folder(dir / "run/checkpoints", 2);
  for (const int64_t step : {5, 10, 15, 20, 25, 30, 35, 40}) {
    const std::vector<int64_t> x = content(step);
    const uint8_t small[] = {1, 2, static_cast<uint8_t>(step)};
    folder.save(step, {{"x", DType::i64, {kCells}, x.data()}, {"y", DType::u8, {3}, small}},
                {{"step", std::to_string(step)}});
    disk::mark(step);
  }
  return disk::stop();
}

/// Puts images on a disk in memory, changing only what differs from the one before.
class Stage {
 public:
  const std::string& path() const { return root_; }
  void show(const disk::Image& image) {
    for (auto it = now_.rbegin(); it != now_.rend(); ++it)
      if (!image.contains(it->first)) remove(it->first);
    for (const auto& [path, bytes] : image) {
      const auto old = now_.find(path);
      if (old != now_.end() && old->second == bytes) continue;
      if (old != now_.end()) remove(path);
      make(path, bytes);
    }
    now_ = image;
  }

 private:
  void remove(const std::string& path) {
    if (path.ends_with("/"))
      ::rmdir((root_ + "/" + path).c_str());
    else
      ::unlink((root_ + "/" + path).c_str());
  }
  void make(const std::string& path, const std::string& bytes) {
    const std::string full = root_ + "/" + path;
    if (path.ends_with("/"))
      ::mkdir(full.c_str(), 0777);
    else if (bytes.starts_with('\x01'))
      REQUIRE(::symlink(bytes.c_str() + 1, full.c_str()) == 0);
    else
      put_file(full, bytes);
  }

  TempDir dir_;
  std::string root_ = dir_.path();
  disk::Image now_;
};

/// What is wrong with the checkpoints of a folder in which `committed` was reported as saved; empty
/// where nothing is.
std::string fault(const std::string& root, int64_t committed) {
  try {
    const Newest newest = CheckpointFolder(root + "/run/checkpoints").newest(true);
    if (!newest.found) return committed < 0 ? "" : "a reported checkpoint is lost";
    if (newest.found->step < committed) return "an older one than was reported";
    const SafetensorsFile file(newest.found->path);
    std::vector<int64_t> x(kCells);
    file.read(*file.find("x"), x.data());
    return x == content(newest.found->step) ? "" : "the values of another step";
  } catch (const Error& e) {
    return std::string("torn: ") + e.what();
  }
}

struct Verdict {
  int64_t states = 0, different = 0, bad = 0;
  std::string example;
};

Verdict try_all(const std::vector<disk::Op>& trace, int most) {
  Verdict v;
  Stage stage;
  std::mt19937 random(2);
  std::set<size_t> seen;  // hashes
  v.states = disk::crash_states(trace, most, random, [&](const disk::Image& image, int64_t mark) {
    std::string all = std::to_string(mark);
    for (const auto& [path, bytes] : image) all += path + '\0' + bytes + '\0';
    if (!seen.insert(std::hash<std::string>()(all)).second) return;
    ++v.different;
    stage.show(image);
    const std::string what = fault(stage.path(), mark);
    if (!what.empty() && v.bad++ == 0) v.example = what;
  });
  return v;
}

}  // namespace

TEST_CASE("power loss: no state of the disk holds a torn checkpoint or loses one", "[faults]") {
  const Verdict v = try_all(recorded_run(), 8192);
  WARN(v.states << " states, " << v.different << " different, " << v.bad << " bad");
  CHECK(v.states >= 100000);
  CHECK(v.bad == 0);
  CHECK(v.example.empty());
}

// The test of the test: without any one of them some state is bad.
TEST_CASE("power loss: every sync is needed", "[faults]") {
  const std::vector<disk::Op> trace = recorded_run();
  int syncs = 0;
  for (size_t i = 0; i < trace.size(); ++i) {
    if (trace[i].kind != disk::Op::sync && trace[i].kind != disk::Op::sync_folder) continue;
    ++syncs;
    std::vector<disk::Op> without = trace;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    INFO("sync " << syncs << " of '" << trace[i].path << "', op " << i);
    CHECK(try_all(without, 256).bad > 0);
  }
  CHECK(syncs == 2 + 8 * 2);  // two new folders; the file and its folder at each save
}
