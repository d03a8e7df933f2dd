#include "support/disk.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>

namespace rille::test::disk {
namespace {

struct Handle {
  std::string path;
  int64_t file = -1;  // -1: a folder, or a file that was there before
  uint64_t at = 0;
};

struct Disk {
  std::string root;
  std::vector<Op> trace;
  std::map<int, Handle> handles;
  std::map<std::string, int64_t> names;  // of the files that came into being
  int64_t files = 0;
  // the fault
  uint64_t room = UINT64_MAX;
  int64_t fail_at = 0, calls = 0;
  int error = 0;
  bool sticky = false, failed = false;

  std::optional<std::string> below(const std::string& path) const {
    if (path == root) return "";
    if (path.size() <= root.size() || !path.starts_with(root + "/")) return std::nullopt;
    return path.substr(root.size() + 1);
  }
  /// Of a path as system calls take it: from the root, the current folder, or an open folder.
  std::optional<std::string> resolve(int folder, const char* path) const {
    if (path[0] == '/' || folder == AT_FDCWD) return below(path);
    const auto h = handles.find(folder);
    if (h == handles.end()) return std::nullopt;
    return h->second.path.empty() ? path : h->second.path + "/" + path;
  }
  bool fails() {
    ++calls;
    if (fail_at == 0 || calls < fail_at || (calls > fail_at && !sticky)) return false;
    failed = true;
    errno = error;
    return true;
  }
  void note(Op op) { trace.push_back(std::move(op)); }
};

Disk* active = nullptr;

Handle* handle_of(int fd) {
  if (!active) return nullptr;
  const auto h = active->handles.find(fd);
  return h == active->handles.end() ? nullptr : &h->second;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const auto where = active ? active->resolve(folder, path) : std::nullopt;
  if (where && active->fails()) return -1;
  const bool makes =
      where && (flags & O_CREAT) && ::syscall(SYS_faccessat, folder, path, F_OK) != 0;
  const int fd = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  if (!where || fd < 0) return fd;
  if (makes) active->names[*where] = active->files++;
  const auto known = active->names.find(*where);
  const Handle handle{*where, known == active->names.end() ? -1 : known->second, 0};
  if (makes)
    active->note({.kind = Op::create, .path = *where, .to = {}, .file = handle.file, .bytes = {}});
  active->handles[fd] = handle;
  return fd;
}

// Several threads may write at a time; the trace has their writes in some order, which a disk does
// not keep either.
ssize_t put(const Handle& h, int fd, const void* data, size_t bytes, uint64_t at) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (active->fails()) return -1;
  if (active->room == 0 && bytes > 0) {
    active->failed = true;
    errno = ENOSPC;
    return -1;
  }
  bytes = std::min<size_t>(bytes, active->room);
  const ssize_t n = ::syscall(SYS_pwrite64, fd, data, bytes, static_cast<off_t>(at));
  if (n <= 0) return n;
  if (active->room != UINT64_MAX) active->room -= static_cast<uint64_t>(n);
  if (h.file >= 0)
    active->note({.kind = Op::write,
                  .path = h.path,
                  .to = {},
                  .file = h.file,
                  .offset = at,
                  .bytes = std::string(static_cast<const char*>(data), static_cast<size_t>(n))});
  return n;
}

}  // namespace

void watch(const std::string& root) {
  delete active;
  active = new Disk{};
  active->root = root;
}

std::vector<Op> stop() {
  std::vector<Op> trace = std::move(active->trace);
  delete active;
  active = nullptr;
  return trace;
}

void mark(int64_t number) {
  active->note({.kind = Op::mark, .path = {}, .to = {}, .bytes = {}, .number = number});
}

void fill_after(uint64_t bytes) {
  active->room = bytes;
  active->failed = false;
}

void fail_call(int64_t number, int error, bool sticky) {
  active->calls = 0;
  active->fail_at = number;
  active->error = error;
  active->sticky = sticky;
  active->failed = false;
}

bool gave_failure() {
  active->room = UINT64_MAX;
  active->fail_at = 0;
  return active->failed;
}

}  // namespace rille::test::disk

// ---- what the program calls
// -------------------------------------------------------------------------

using namespace rille::test::disk;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_at(folder, path, flags, mode);
}

ssize_t write(int fd, const void* data, size_t bytes) {
  Handle* h = handle_of(fd);
  if (!h) return ::syscall(SYS_write, fd, data, bytes);
  const ssize_t n = put(*h, fd, data, bytes, h->at);
  if (n > 0) h->at += static_cast<uint64_t>(n);
  return n;
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) {
  Handle* h = handle_of(fd);
  if (!h) return ::syscall(SYS_pwrite64, fd, data, bytes, at);
  return put(*h, fd, data, bytes, static_cast<uint64_t>(at));
}

// Noted and not done: a real disk would make thousands of saves take minutes.
int fsync(int fd) {
  const Handle* h = handle_of(fd);
  if (!h) return 0;
  if (active->fails()) return -1;
  active->note({.kind = h->file >= 0 ? Op::sync : Op::sync_folder,
                .path = h->path,
                .to = {},
                .file = h->file,
                .bytes = {}});
  return 0;
}

int close(int fd) {
  const bool ours = handle_of(fd) != nullptr;
  if (ours) active->handles.erase(fd);
  const bool fails = ours && active->fails();
  const int error = errno;
  const int result = static_cast<int>(::syscall(SYS_close, fd));
  if (!fails) return result;
  errno = error;
  return -1;
}

// A full disk that gives no warning: only writing finds it out.
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (handle_of(fd)) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, bytes));
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  const auto one = active ? active->resolve(from_folder, from) : std::nullopt;
  if (one && active->fails()) return -1;
  const int result =
      static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
  if (!one || result != 0) return result;
  const std::string other = *active->resolve(to_folder, to);
  active->names.erase(other);
  if (auto file = active->names.extract(*one)) {
    file.key() = other;
    active->names.insert(std::move(file));
  }
  active->note({.kind = Op::rename, .path = *one, .to = other, .bytes = {}});
  return result;
}

int rename(const char* from, const char* to) noexcept {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  const auto where = active ? active->resolve(folder, path) : std::nullopt;
  if (where && active->fails()) return -1;
  const int result = static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
  if (where && result == 0) {
    active->names.erase(*where);
    active->note({.kind = Op::unlink, .path = *where, .to = {}, .bytes = {}});
  }
  return result;
}

int unlink(const char* path) noexcept { return unlinkat(AT_FDCWD, path, 0); }

int symlink(const char* text, const char* path) noexcept {
  const auto where = active ? active->below(path) : std::nullopt;
  if (where && active->fails()) return -1;
  const int result = static_cast<int>(::syscall(SYS_symlinkat, text, AT_FDCWD, path));
  if (where && result == 0)
    active->note({.kind = Op::symlink, .path = *where, .to = text, .bytes = {}});
  return result;
}

int mkdir(const char* path, mode_t mode) noexcept {
  const auto where = active ? active->below(path) : std::nullopt;
  if (where && active->fails()) return -1;
  const int result = static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
  if (where && result == 0)
    active->note({.kind = Op::mkdir, .path = *where, .to = {}, .bytes = {}});
  return result;
}
}
