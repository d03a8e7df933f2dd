#include "io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "core/fail.h"
#include "io/last_name.h"
#include "io/utf8.h"

namespace rille::io {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

int Fd::close() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd < 0) return 0;
  const int saved = errno;
  // Linux has released the descriptor whatever close says, so EINTR is no failure.
  const int error = ::close(fd) == 0 || errno == EINTR ? 0 : errno;
  errno = saved;
  return error;
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

void fail_io(std::string_view action, const std::string& path, int error_number, uint64_t needed) {
  Error error = io_error("cannot {} '{}': {}", action, shown(path), reason(error_number));
  if (error_number == ENOSPC || error_number == EDQUOT) {
    const auto add = [&](std::string_view what, uint64_t bytes) {
      (void)std::move(error).fact(fmt::format("{:<12} {} bytes", what, bytes));  // stays here
    };
    if (needed > 0) add("needed", needed);
    struct statvfs fs {};
    if (::statvfs(split_path(path).first.c_str(), &fs) == 0)
      add("free", static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize);
  }
  throw error;
}

void check_path(const std::string& path) {
  if (path.empty()) throw io_error("the path is empty");
  if (path.find('\0') != std::string::npos)
    throw io_error("the path '{}' holds a NUL byte", shown(path));
}

std::pair<std::string, std::string> split_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  check_path(path_);
  // O_NONBLOCK: opening a pipe must not wait for somebody to write to it.
  fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd_) fail_io("open", path_, errno);
  struct stat st {};
  if (::fstat(fd_.get(), &st) != 0) fail_io("open", path_, errno);
  if (S_ISDIR(st.st_mode)) fail_io("read", path_, EISDIR);
  if (!S_ISREG(st.st_mode)) throw io_error("cannot read '{}': not a regular file", shown(path_));
  size_ = static_cast<uint64_t>(st.st_size);
}

size_t InputFile::read_some(void* dst, size_t bytes, uint64_t offset) const {
  constexpr size_t kPiece = size_t{1} << 30;  // Linux moves at most 2 GiB a call
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd_.get(), static_cast<char*>(dst) + done,
                              std::min(bytes - done, kPiece), static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io("read", path_, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

void InputFile::read_exact(void* dst, size_t bytes, uint64_t offset) const {
  const size_t got = read_some(dst, bytes, offset);
  if (got < bytes)
    throw format_error("'{}' ends at byte {}, wanted {} bytes at {}", shown(path_), offset + got,
                       bytes, offset);
}

bool exists(const std::string& path) {
  check_path(path);
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0;
}

uint64_t file_size(const std::string& path) {
  check_path(path);
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) fail_io("look at", path, errno);
  return static_cast<uint64_t>(st.st_size);
}

namespace {

/// EINVAL: the file system has nothing to sync for a folder.
void sync_folder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || (::fsync(folder.get()) != 0 && errno != EINVAL))
    fail_io("make durable", path, errno);
}

bool is_folder(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

}  // namespace

// A new folder is an entry of the one above: without syncing that one, a power loss could take the
// folder away with every file in it, however often those were synced.
void make_dirs(const std::string& path) {
  check_path(path);
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.ends_with('/') && !is_folder(part)) {
      constexpr mode_t kAll = 0777;  // less the umask
      if (::mkdir(part.c_str(), kAll) == 0)
        sync_folder(split_path(part).first);
      else if (errno != EEXIST || !is_folder(part))
        fail_io("make the folder", path, errno == EEXIST ? ENOTDIR : errno);
    }
    if (end == std::string::npos) return;
  }
}

std::vector<std::string> list_dir(const std::string& path) {
  check_path(path);
  // Not std::filesystem's iterator: where memory fails, libstdc++ ends the process in it.
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) fail_io("list", path, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) fail_io("list", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

bool remove_file(const std::string& path) {
  check_path(path);
  const LastName removed(AT_FDCWD, path);
  if (::unlink(path.c_str()) == 0) return true;
  if (errno != ENOENT) fail_io("remove", path, errno);
  return false;
}

void copy_file(const std::string& from, const std::string& to) {
  const InputFile source(from);
  AtomicFile target(to);
  constexpr size_t kPiece = size_t{1} << 20;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  uint64_t at = 0;
  while (const size_t n = source.read_some(buffer.get(), kPiece, at)) {
    target.write(buffer.get(), n);
    at += n;
  }
  target.commit();
}

std::string read_text(const std::string& path, uint64_t max_bytes) {
  const InputFile file(path);
  if (file.size() > max_bytes)
    throw io_error("'{}' has {} bytes, more than the {} that are read", shown(path), file.size(),
                   max_bytes);
  std::string text(file.size(), '\0');
  text.resize(file.read_some(text.data(), text.size(), 0));
  return text;
}

void write_text_atomic(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace rille::io
