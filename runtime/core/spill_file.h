// Values of tensors that wait in a file instead of in memory. The file has no name, so it is gone
// with its process; space that was given back is written to again.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/tensor.h"

namespace rille {

class SpillFile : public std::enable_shared_from_this<SpillFile> {
 public:
  /// In that folder. Throws E_IO.
  explicit SpillFile(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// A value in the file, until it is destroyed.
  class Spilled {
   public:
    ~Spilled();
    Spilled(const Spilled&) = delete;
    Spilled& operator=(const Spilled&) = delete;
    /// Reads it into fresh memory, with the strides of the tensor that was written. Throws E_IO.
    /// Values that were written just before it are asked of the disk, for they are wanted next.
    Tensor read() const;
    int64_t bytes() const { return bytes_; }

   private:
    friend class SpillFile;
    Spilled(std::shared_ptr<SpillFile> file, Meta meta, int64_t offset, int64_t bytes)
        : file_(std::move(file)), meta_(std::move(meta)), offset_(offset), bytes_(bytes) {}
    std::shared_ptr<SpillFile> file_;
    Meta meta_;
    int64_t offset_, bytes_;
  };

  /// Writes a dense tensor. Throws E_IO, with nothing written, where the disk is full.
  std::unique_ptr<Spilled> write(const Tensor& dense);
  /// Bytes that values take now.
  int64_t in_use() const;

 private:
  int64_t take(int64_t bytes);
  void give(int64_t offset, int64_t bytes) noexcept;
  void ask_for_those_before(int64_t offset) const noexcept;

  const std::string folder_;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::map<int64_t, int64_t> used_, free_;  // offset: bytes
  int64_t end_ = 0;
};

}  // namespace rille
