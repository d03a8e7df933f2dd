// A run's checkpoints and locks as the standard library sees them: native.checkpoints(folder) saves
// now or in the background, native.lock(path) keeps other processes out.
#include "io/checkpoints.h"

#include <limits>

#include "core/fail.h"
#include "interpreter/bind/file_values.h"
#include "io/background.h"

namespace rille::bind {
namespace {

// A save in the background writes a snapshot; the script's thread makes it and lets it go, for the
// bytes of tensors are counted by thread.
class Checkpoints final : public lua::Object {
 public:
  static constexpr std::string_view kWhat = "a folder of checkpoints";
  Checkpoints(std::string path, int64_t keep) : folder_(std::move(path), keep) {}
  std::string_view type() const override { return "rille.Checkpoints"; }

  const io::CheckpointFolder& folder() const { return folder_; }

  void save(int64_t step, const Value& root) {
    wait();
    const Snapshot now = snapshot_of(root, false);
    folder_.save(step, now.items, now.metadata);
  }
  void save_behind(int64_t step, const Value& root) {
    wait();
    snapshot_ = snapshot_of(root, true);
    step_ = step;
    work_.start([this] { folder_.save(step_, snapshot_.items, snapshot_.metadata); });
  }
  /// The step of a save in the background whose end was not told yet. Throws its error.
  std::optional<int64_t> finished(bool wait) {
    if (!work_.busy()) return std::nullopt;
    const Release release{*this};
    if (wait)
      work_.wait();
    else if (!work_.done())
      return std::nullopt;
    return step_;
  }

 private:
  void wait() { finished(true); }
  struct Release {
    Checkpoints& of;
    ~Release() {
      if (!of.work_.busy()) of.snapshot_ = {};
    }
  };

  io::CheckpointFolder folder_;
  Snapshot snapshot_;
  int64_t step_ = 0;
  io::Background work_;  // last: its end is waited for first
};

std::shared_ptr<Checkpoints> self(Call& c) { return c.object<Checkpoints>(1, "self"); }

// native.checkpoints(path[, keep]) -> folder; without keep none is deleted
void checkpoints(Call& c) {
  const int64_t keep = c.has(2) ? c.integer(2, "keep") : std::numeric_limits<int64_t>::max();
  c.give(lua::ObjectRef(std::make_shared<Checkpoints>(c.string(1, "path"), keep)));
}
// folder:save(step, table[, background]) -> path
void save(Call& c) {
  const auto s = self(c);
  const int64_t step = c.integer(2, "step");
  std::string path = s->folder().path_for(step);
  if (c.has(4) && c.boolean(4, "background"))
    s->save_behind(step, c.value(3));
  else
    s->save(step, c.value(3));
  c.give(std::move(path));
}
// folder:finished([wait]) -> step of a save in the background that is durable now, or nil
void finished(Call& c) {
  if (const auto step = self(c)->finished(c.has(2) && c.boolean(2, "wait"))) c.give(*step);
}
void path_for(Call& c) { c.give(self(c)->folder().path_for(c.integer(2, "step"))); }
// folder:steps() -> list, newest first
void steps(Call& c) {
  const auto all = self(c)->folder().list();
  Table t;
  for (auto one = all.rbegin(); one != all.rend(); ++one) t.list.emplace_back(one->step);
  c.give(t);
}
// folder:quarantine(path) -> where it lies now
void quarantine(Call& c) { c.give(self(c)->folder().quarantine(c.string(2, "path"))); }

class Lock final : public lua::Object {
 public:
  static constexpr std::string_view kWhat = "a lock";
  Lock(std::string path, double timeout_s) : lock_(std::in_place, std::move(path), timeout_s) {}
  std::string_view type() const override { return "rille.Lock"; }
  void release() { lock_.reset(); }

 private:
  std::optional<io::FileLock> lock_;
};

// native.lock(path[, timeout]) -> lock, which the end of the process gives back, too
void lock(Call& c) {
  const double timeout_s = c.has(2) ? c.number(2, "timeout") : 0;
  c.give(lua::ObjectRef(std::make_shared<Lock>(c.string(1, "path"), timeout_s)));
}
void release(Call& c) { c.object<Lock>(1, "self")->release(); }

}  // namespace

void bind_checkpoints(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"checkpoints", checkpoints}, {"lock", lock}};
  lua::define_outside(in, "rille.native", natives);
  static constexpr NativeEntry methods[] = {{"save", save},
                                            {"finished", finished},
                                            {"path", path_for},
                                            {"steps", steps},
                                            {"quarantine", quarantine}};
  lua::define_class(in, "rille.Checkpoints", methods);
  static constexpr NativeEntry of_locks[] = {{"release", release}};
  lua::define_class(in, "rille.Lock", of_locks);
}

}  // namespace rille::bind
