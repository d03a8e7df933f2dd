#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "core/fail.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/last_name.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

constexpr size_t kRandomDigits = 16;
constexpr std::string_view kSuffix = ".tmp";
constexpr size_t kDirectBytes = size_t{1} << 20;  // below this the page cache is the quicker way

/// What the temporaries of a target start with; long names are shortened to stay below NAME_MAX.
std::string temporary_prefix(const std::string& name) {
  if (name.size() <= 200) return "." + name + ".";
  return fmt::format(".{}{:08x}.", name.substr(0, 64), crc32c(name.data(), name.size()));
}

std::string random_hex() {
  uint64_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits)
    if (errno != EINTR) throw io_error("no random bytes: {}", reason(errno));
  return fmt::format("{:016x}", bits);
}

/// The process's umask. The call that reads it also sets it, which other threads would see, so it
/// is read from /proc; where that is not mounted the file stays private.
mode_t file_mode() {
  constexpr mode_t kPrivate = 0600;
  const Fd fd(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t n = fd ? ::read(fd.get(), text, sizeof text) : -1;
  if (n <= 0) return kPrivate;
  const std::string_view status(text, static_cast<size_t>(n));
  constexpr std::string_view kKey = "\nUmask:\t";
  const size_t at = status.find(kKey);
  if (at == std::string_view::npos) return kPrivate;
  unsigned mask = 0;
  const char* first = status.data() + at + kKey.size();
  if (std::from_chars(first, status.data() + status.size(), mask, 8).ec != std::errc())
    return kPrivate;
  return static_cast<mode_t>(0666u & ~mask);
}

Fd open_folder(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

void check_target(const std::string& path) {
  check_path(path);
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return;
  if (S_ISDIR(st.st_mode)) fail_io("write", path, EISDIR);
  const bool special =
      ::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
  if (special) throw io_error("cannot write '{}': not a regular file", shown(path));
}

// The folder is opened once and everything happens relative to it: whoever swaps a parent folder in
// the middle of a save cannot send the file elsewhere.
AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  check_target(path_);
  wait_until_freed();  // this one may need the room, and is written no sooner beside it
  const auto [folder, name] = split_path(path_);
  name_ = name;
  folder_ = open_folder(folder);
  if (!folder_) fail_io("write", path_, errno);
  struct stat st {};
  const bool there = ::fstatat(folder_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (name_.empty() || (there && S_ISDIR(st.st_mode))) fail_io("write", path_, EISDIR);

  constexpr int kTries = 8;  // a name of 64 random bits is free the first time
  for (int i = 0; i < kTries && !fd_; ++i) {
    temporary_ = temporary_prefix(name_) + random_hex() + std::string(kSuffix);
    fd_ = Fd(::openat(folder_.get(), temporary_.c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd_ && errno != EEXIST) break;
  }
  if (!fd_) {
    const int error = errno;
    temporary_.clear();
    fail_io("write", path_, error);
  }
}

void AtomicFile::fail_and_discard(std::string_view action, int error_number) {
  discard();
  fail_io(action, path_, error_number, needed_);
}

void AtomicFile::discard() noexcept {
  direct_.close();
  fd_.close();
  if (!temporary_.empty()) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
  temporary_.clear();
}

void AtomicFile::reserve(uint64_t bytes) {
  if (bytes == 0) return;
  needed_ = bytes;
  int result;
  do {
    result = ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  const bool unsupported = result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS);
  if (result != 0 && !unsupported) fail_and_discard("write", errno);
  // Not every file system can; then all goes through the page cache.
  if (bytes >= kDirectBytes)
    direct_ = Fd(
        ::openat(folder_.get(), temporary_.c_str(), O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC));
}

void AtomicFile::write(const void* data, size_t bytes) {
  if (!fd_) throw internal_error("'{}' is written after its end", shown(path_));
  constexpr size_t kPiece = size_t{1} << 30;
  const char* from = static_cast<const char*>(data);
  needed_ = std::max(needed_, written_ += bytes);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_.get(), from, std::min(bytes, kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_and_discard("write", errno);
    from += n;
    bytes -= static_cast<size_t>(n);
  }
}

// Nothing is discarded here, where other threads may be writing: the destructor does it.
void AtomicFile::put(const char* from, size_t bytes, uint64_t offset) {
  if (bytes == 0) return;
  for (size_t done = 0; done < bytes;) {
    const ssize_t n =
        ::pwrite(fd_.get(), from + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io("write", path_, errno, needed_);
    done += static_cast<size_t>(n);
  }
  // A hint, whose failure means nothing: the sync at the end then finds most of it done.
  (void)::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                          SYNC_FILE_RANGE_WRITE);
}

// Whole blocks. False where the file system does not take them so, or not to the end: written
// again through the page cache they are as good.
bool AtomicFile::put_direct(const char* from, size_t bytes, uint64_t offset) {
  ssize_t n;
  do {
    n = ::pwrite(direct_.get(), from, bytes, static_cast<off_t>(offset));
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno != EINVAL) fail_io("write", path_, errno, needed_);
  return n == static_cast<ssize_t>(bytes);
}

void AtomicFile::write_at(const void* data, size_t bytes, uint64_t offset) {
  const char* from = static_cast<const char*>(data);
  const size_t behind = offset % kBlock, before = behind == 0 ? 0 : kBlock - behind;
  const bool alike = reinterpret_cast<uintptr_t>(from) % kBlock == behind;
  if (!direct_ || !alike || bytes < before + kDirectBytes) return put(from, bytes, offset);
  const size_t blocks = (bytes - before) / kBlock * kBlock, end = before + blocks;
  put(from, before, offset);
  if (!put_direct(from + before, blocks, offset + before))
    put(from + before, blocks, offset + before);
  put(from + end, bytes - end, offset + end);
}

void AtomicFile::commit() {
  if (!fd_) throw internal_error("'{}' is committed twice", shown(path_));
  if (::fchmod(fd_.get(), file_mode()) != 0) fail_and_discard("set the mode of", errno);
  // After a failed fsync the pages may be gone though they read as clean: never try again on this
  // descriptor, the next save starts from a new file.
  if (::fsync(fd_.get()) != 0) fail_and_discard("write", errno);
  direct_.close();
  if (const int error = fd_.close()) fail_and_discard("write", error);
  const LastName replaced(folder_.get(), name_);
  if (::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0)
    fail_and_discard("rename the new file to", errno);
  temporary_.clear();
  // EINVAL: the file system has nothing to sync for a folder.
  if (::fsync(folder_.get()) != 0 && errno != EINVAL) fail_io("make durable", path_, errno);
}

std::string_view target_of_temporary(std::string_view name) {
  constexpr size_t kTail = 1 + kRandomDigits + kSuffix.size();
  if (name.size() < kTail + 2 || name[0] != '.' || !name.ends_with(kSuffix)) return {};
  const std::string_view random = name.substr(name.size() - kTail + 1, kRandomDigits);
  const bool ours = name[name.size() - kTail] == '.' &&
                    random.find_first_not_of("0123456789abcdef") == random.npos;
  return ours ? name.substr(1, name.size() - kTail - 1) : std::string_view{};
}

void remove_stale_temporaries(const std::string& path) {
  const auto [folder, name] = split_path(path);
  const std::string prefix = temporary_prefix(name);
  const Fd dir = open_folder(folder);
  if (!dir) return;
  for (const std::string& entry : list_dir(folder))
    if (entry.starts_with(prefix) && target_of_temporary(entry).size() + 2 == prefix.size())
      ::unlinkat(dir.get(), entry.c_str(), 0);
}

}  // namespace rille::io
