// rille.save, rille.load and rille.load_latest: a script's tables in files, one under a name of its
// own or, by step, in a folder that keeps the newest few.
#include "core/fail.h"
#include "interpreter/bind/file_values.h"
#include "interpreter/bind/named.h"
#include "io/background.h"
#include "io/checkpoints.h"
#include "io/file.h"

namespace rille::bind {
namespace {

// ---- rille.save
// ------------------------------------------------------------------------------------

struct Destination {
  std::string path;
  std::optional<int64_t> step;  // given: `path` is a folder
  int64_t keep = 2;
  bool lock = true;

  std::string file() const { return step ? folder().path_for(*step) : path; }
  void write(const Snapshot& now) const {
    if (step)
      folder().save(*step, now.items, now.metadata);
    else
      io::write_safetensors(path, now.items, now.metadata, {.lock = lock});
  }

 private:
  io::CheckpointFolder folder() const { return io::CheckpointFolder(path, keep); }
};

// A save that the script does not wait for. The script's thread makes the copy that is written and
// lets it go, for the bytes of tensors are counted by thread.
class Save final : public lua::Object {
 public:
  static constexpr std::string_view kWhat = "a save";
  Save(Destination to, Snapshot now, std::FILE* log)
      : to_(std::move(to)), now_(std::move(now)), log_(log) {
    work_.start([this] { to_.write(now_); });
  }
  // Nobody asked how it ended: a file that was not written is told of here, or nowhere.
  ~Save() override {
    try {
      if (const std::exception_ptr lost = work_.error_at_end()) std::rethrow_exception(lost);
    } catch (const std::exception& e) {
      std::fprintf(log_, "rille: a save that nothing waited for failed: %s\n", e.what());
    }
  }
  std::string_view type() const override { return "rille.Save"; }

  /// Waits for its end and throws its error, once.
  std::string wait() {
    const Release release{*this};
    if (work_.busy()) work_.wait();
    return to_.file();
  }
  bool done() {
    const Release release{*this};
    return !work_.busy() || work_.done();
  }

 private:
  struct Release {
    Save& of;
    ~Release() {
      if (!of.work_.busy()) of.now_ = {};
    }
  };

  Destination to_;
  Snapshot now_;
  std::FILE* log_;
  io::Background work_;  // last: its end is waited for first
};

std::optional<int64_t> integer_option(const Call& c, int i, std::string_view key) {
  const Value v = c.option(i, key);
  if (v.is_nil()) return std::nullopt;
  if (const auto* n = v.get<int64_t>()) return *n;
  throw type_error("option '{}' must be an integer", key);
}

Destination destination(const Call& c) {
  Destination to{c.string(1, "path"), integer_option(c, 3, "step")};
  const auto keep = integer_option(c, 3, "keep");
  to.lock = c.flag_option(3, "lock", true);
  if (keep && !to.step)
    throw option_error("'keep' goes with 'step', which makes the path a folder");
  if (to.step && !to.lock)
    throw option_error("'lock' can't be false with 'step': a folder is always locked");
  to.keep = keep.value_or(to.keep);
  (void)to.file();  // refuses a bad step or count now
  return to;
}

// rille.save(path, table) or rille.save(folder, table, { step, keep }) -> the file's path;
// with { async = true } -> a save, whose wait() gives it
void save(Call& c) {
  named("save", [&] {
    c.only(3, {"step", "keep", "async", "lock"});
    const Destination to = destination(c);
    if (!c.is_table(2) && !c.is_tensor(2)) c.wrong(2, "table", "a table or a tensor");
    Value root = c.value(2);
    if (root.get<Tensor>()) {
      Table t;
      t.named.emplace("tensor", root);
      root = t;
    }
    if (c.flag_option(3, "async"))
      return c.give(
          lua::ObjectRef(std::make_shared<Save>(to, snapshot_of(root, true), c.interpreter().log)));
    to.write(snapshot_of(root, false));
    if (to.step) c.give(to.file());
  });
}

void wait(Call& c) {
  named("save", [&] { c.give(c.object<Save>(1, "self")->wait()); });
}
void done(Call& c) {
  named("save", [&] { c.give(c.object<Save>(1, "self")->done()); });
}

// ---- rille.load, rille.load_latest
// -----------------------------------------------------------------

struct Source {
  Device device;
  bool mmap = false, strict = false;
};

// `map_device` is another name for `device`: where all tensors go, for files know no devices.
Source source(const Call& c, bool strict) {
  c.only(2, {"device", "mmap", "map_device", "strict"});
  const auto device = c.text_option(2, "device"), mapped = c.text_option(2, "map_device");
  if (device && mapped) throw option_error("'device' and 'map_device' are the same option");
  Source from;
  if (device || mapped) from.device = device_of(c.interpreter(), device ? *device : *mapped);
  from.mmap = c.flag_option(2, "mmap");
  from.strict = c.flag_option(2, "strict", strict);
  return from;
}

Value read(const std::string& path, const Source& from) {
  io::SafetensorsFile file(path);
  return tree_of(file, from.device, from.mmap);
}

// rille.load(path, { device, mmap })
void load(Call& c) {
  named("load", [&] {
    const std::string path = c.string(1, "path");
    const Source from = source(c, true);
    if (!from.strict)
      throw option_error("'strict' can't be false: a damaged file is never read")
          .hint("rille.load_latest falls back to the file before it");
    c.give(read(path, from));
  });
}

// The newest that is whole, and what it holds; a saver may rotate it away between the two.
std::pair<io::Newest, Value> read_newest(const io::CheckpointFolder& folder, const Source& from) {
  constexpr int kTries = 10;
  for (int i = 0;; ++i) {
    io::Newest newest = folder.newest(from.strict);
    if (!newest.found) return {std::move(newest), {}};
    try {
      Value v = read(newest.found->path, from);
      return {std::move(newest), std::move(v)};
    } catch (const Error&) {
      if (i == kTries || io::exists(newest.found->path)) throw;
    }
  }
}

// rille.load_latest(folder, { device, mmap, strict }) -> table, { step, path, rejected }; or nil
// where the folder holds none
void load_latest(Call& c) {
  named("load_latest", [&] {
    const io::CheckpointFolder folder(c.string(1, "folder"));
    auto [newest, root] = read_newest(folder, source(c, false));
    if (!newest.found) return;
    Table about, rejected;
    for (const io::Rejected& r : newest.rejected) {
      fmt::print(c.interpreter().log, "rille: {}\n", r.reason);
      Table one;
      one.named.emplace("path", r.path);
      one.named.emplace("reason", r.reason);
      rejected.list.emplace_back(std::move(one));
    }
    about.named.emplace("step", newest.found->step);
    about.named.emplace("path", newest.found->path);
    about.named.emplace("rejected", std::move(rejected));
    c.give(std::move(root));
    c.give(std::move(about));
  });
}

}  // namespace

void bind_saves(Interpreter& in) {
  static constexpr NativeEntry functions[] = {
      {"save", save}, {"load", load}, {"load_latest", load_latest}};
  lua::define_outside(in, "rille", functions);
  static constexpr NativeEntry methods[] = {{"wait", wait}, {"done", done}};
  lua::define_class(in, "rille.Save", methods);
}

}  // namespace rille::bind
