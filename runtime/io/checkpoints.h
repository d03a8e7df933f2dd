// A run's folder of checkpoints: step-<n>.safetensors, the newest also as last.safetensors. Saving
// holds the folder's LOCK, makes the new file durable first and only then deletes old ones. Looking
// for the newest verifies every byte and falls back to the one before, saying why.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/safetensors.h"

namespace rille::io {

struct Checkpoint {
  int64_t step = 0;
  std::string path;
};

struct Rejected {
  std::string path;
  std::string reason;
};

struct Newest {
  std::optional<Checkpoint> found;  // none where the folder holds no checkpoint at all
  std::vector<Rejected> rejected;   // newer ones that are broken
};

class CheckpointFolder {
 public:
  /// Keeps the newest `keep` (at least 1); two or more let a damaged one be survived.
  explicit CheckpointFolder(std::string path, int64_t keep = 2);

  const std::string& path() const { return path_; }
  std::string path_for(int64_t step) const;
  std::string last_path() const { return path_ + "/last.safetensors"; }
  /// By step, oldest first; empty where the folder does not exist.
  std::vector<Checkpoint> list() const;

  /// Writes the step's file, points `last` to it, deletes what is beyond `keep`. Makes the folder.
  Checkpoint save(int64_t step, const std::vector<TensorItem>& items, const Metadata& metadata,
                  double lock_timeout_s = 30) const;

  /// The newest that is whole. E_CKPT_TORN listing every file and reason where there are some but
  /// none is: a run never starts afresh in silence. With `strict` the newest must be the whole one.
  Newest newest(bool strict = false) const;

  /// Moves a broken file aside (step-<n>.safetensors.broken) so that it is kept but not counted.
  std::string quarantine(const std::string& checkpoint_path) const;

 private:
  void remove_temporaries() const;
  void point_last_to(const Checkpoint& c) const;
  void rotate(int64_t saved_step) const;

  std::string path_;
  int64_t keep_;
};

}  // namespace rille::io
