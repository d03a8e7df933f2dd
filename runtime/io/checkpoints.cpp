#include "io/checkpoints.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "core/fail.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";

std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  if (name.size() <= kPrefix.size() + kSuffix.size()) return std::nullopt;
  const std::string_view digits =
      name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool plain = digits[0] != '-' && (digits[0] != '0' || digits.size() == 1);
  if (error != std::errc() || end != digits.data() + digits.size() || !plain) return std::nullopt;
  return step;
}

std::string file_name(int64_t step) { return fmt::format("{}{}{}", kPrefix, step, kSuffix); }

/// Why the file cannot be used; nothing where it can.
std::optional<std::string> fault(const std::string& path) {
  try {
    SafetensorsFile(path).verify();
    return std::nullopt;
  } catch (const Error& e) {
    if (e.kind() != Kind::data) throw;
    return e.what();
  }
}

Error none_usable(const std::string& folder, const std::vector<Rejected>& rejected) {
  Error error = fail(Kind::data, "E_CKPT_TORN", "no usable checkpoint in '{}'", shown(folder));
  for (const Rejected& r : rejected) (void)std::move(error).fact(r.reason);  // stays where it is
  return error;
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path, int64_t keep)
    : path_(std::move(path)), keep_(keep) {
  check_path(path_);
  if (keep < 1) throw arg_error("'keep' must be at least 1, got {}", keep);
}

std::string CheckpointFolder::path_for(int64_t step) const {
  if (step < 0) throw arg_error("a checkpoint's step must be 0 or more, got {}", step);
  return path_ + "/" + file_name(step);
}

std::vector<Checkpoint> CheckpointFolder::list() const {
  std::vector<Checkpoint> all;
  if (!exists(path_)) return all;
  for (const std::string& name : list_dir(path_))
    if (const auto step = step_of(name)) all.push_back({*step, path_ + "/" + name});
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.step < b.step; });
  return all;
}

Checkpoint CheckpointFolder::save(int64_t step, const std::vector<TensorItem>& items,
                                  const Metadata& metadata, double lock_timeout_s) const {
  const Checkpoint saved{step, path_for(step)};
  make_dirs(path_);
  const FileLock lock(path_ + "/LOCK", lock_timeout_s);
  remove_temporaries();
  write_safetensors(saved.path, items, metadata, {.lock = false});
  point_last_to(saved);
  rotate(step);
  return saved;
}

/// Those of savers that were killed, whatever step they were at.
void CheckpointFolder::remove_temporaries() const {
  for (const std::string& name : list_dir(path_))
    if (step_of(target_of_temporary(name))) remove_file(path_ + "/" + name);
}

/// A link where the file system has links, a copy elsewhere; never a moment without `last`.
void CheckpointFolder::point_last_to(const Checkpoint& c) const {
  const std::string link = path_ + "/.last.link";
  remove_file(link);
  if (::symlink(split_path(c.path).second.c_str(), link.c_str()) != 0) {
    if (errno != EPERM && errno != EOPNOTSUPP) fail_io("link", last_path(), errno);
    copy_file(c.path, last_path());
    return;
  }
  if (std::rename(link.c_str(), last_path().c_str()) != 0) fail_io("link", last_path(), errno);
}

/// The file just saved always stays, even where a run that went back left later steps behind.
void CheckpointFolder::rotate(int64_t saved_step) const {
  const std::vector<Checkpoint> all = list();
  int64_t others = keep_ - 1;
  for (auto c = all.rbegin(); c != all.rend(); ++c)
    if (c->step != saved_step && others-- <= 0) remove_file(c->path);
}

Newest CheckpointFolder::newest(bool strict) const {
  constexpr int kTries = 10;  // a saver may rotate away what was listed a moment ago
  for (int i = 0;; ++i) {
    Newest result;
    bool vanished = false;
    std::vector<Checkpoint> all = list();
    for (auto c = all.rbegin(); c != all.rend() && !result.found; ++c) {
      const auto reason = fault(c->path);
      if (!reason)
        result.found = *c;
      else if (exists(c->path))
        result.rejected.push_back({c->path, *reason});
      else
        vanished = true;
    }
    if (vanished && i < kTries) continue;
    if (!result.rejected.empty() && (strict || !result.found))
      throw none_usable(path_, result.rejected);
    return result;
  }
}

std::string CheckpointFolder::quarantine(const std::string& checkpoint_path) const {
  check_path(checkpoint_path);
  std::string aside = checkpoint_path + ".broken";
  if (std::rename(checkpoint_path.c_str(), aside.c_str()) != 0)
    fail_io("move aside", checkpoint_path, errno);
  return aside;
}

}  // namespace rille::io
