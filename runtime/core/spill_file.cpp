#include "core/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/fail.h"

namespace rille {
namespace {

constexpr int64_t kGrain = 4096;
constexpr int64_t kAhead = int64_t{64} << 20;  // bytes that are asked for before they are wanted

int64_t up(int64_t n) { return n + (kGrain - n % kGrain) % kGrain; }

Error failed(const std::string& folder, const char* what, int reason) {
  return io_error("{}: can't {} a file for offloaded values: {}", folder, what,
                  std::strerror(reason));
}

int open_unnamed(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string name = folder + "/rille-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

SpillFile::SpillFile(const std::string& folder) : folder_(folder), file_(open_unnamed(folder)) {
  if (file_ < 0) throw failed(folder_, "make", errno);
}
SpillFile::~SpillFile() { ::close(file_); }

int64_t SpillFile::take(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const int64_t at = it->first, rest = it->second - bytes;
    free_.erase(it);
    if (rest > 0) free_.emplace(at + bytes, rest);
    used_.emplace(at, bytes);
    return at;
  }
  const int64_t at = end_;
  if (const int reason = ::posix_fallocate(file_, at, bytes))
    throw failed(folder_, "write", reason).hint("offload_dir names another folder");
  end_ += bytes;
  used_.emplace(at, bytes);
  return at;
}

void SpillFile::give(int64_t offset, int64_t bytes) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    used_.erase(offset);
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_.emplace(offset, bytes);
  } catch (const std::bad_alloc&) {  // the space is lost until the file goes
  }
}

std::unique_ptr<SpillFile::Spilled> SpillFile::write(const Tensor& dense) {
  const int64_t bytes = dense.nbytes(), room = up(std::max<int64_t>(bytes, 1));
  std::unique_ptr<Spilled> value(new Spilled(shared_from_this(), dense.meta(), take(room), room));
  const char* from = static_cast<const char*>(dense.data());
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n =
        ::pwrite(file_, from + done, static_cast<size_t>(bytes - done), value->offset_ + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw failed(folder_, "write", n == 0 ? ENOSPC : errno);
    done += n;
  }
  return value;
}

// Backward wants values in the order opposite to that in which they were written, and space that
// is written for the first time is taken in order.
void SpillFile::ask_for_those_before(int64_t offset) const noexcept {
  const int64_t from = std::max<int64_t>(0, offset - kAhead);
  if (offset > from) ::posix_fadvise(file_, from, offset - from, POSIX_FADV_WILLNEED);
}

int64_t SpillFile::in_use() const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [offset, bytes] : used_) sum += bytes;
  return sum;
}

SpillFile::Spilled::~Spilled() { file_->give(offset_, bytes_); }

Tensor SpillFile::Spilled::read() const {
  const Tensor t = Tensor::empty(meta_);
  file_->ask_for_those_before(offset_);
  char* to = static_cast<char*>(t.data());
  for (int64_t done = 0, bytes = t.nbytes(); done < bytes;) {
    const ssize_t n =
        ::pread(file_->file_, to + done, static_cast<size_t>(bytes - done), offset_ + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw failed(file_->folder_, "read", n == 0 ? EIO : errno);
    done += n;
  }
  return t;
}

}  // namespace rille
