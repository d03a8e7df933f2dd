// Files as the rest of io sees them: descriptors that close themselves, exact reads, files that are
// written whole or not at all, and locks between processes. Every failure is E_IO or E_FORMAT and
// names the path. Paths hold no NUL byte, so a script cannot make the system see another one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rille::io {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes it; the error number of close(2), 0 where all went well.
  int close() noexcept;

 private:
  int fd_ = -1;
};

/// The system's words for an error number.
std::string reason(int error_number);
/// Throws E_IO: cannot <action> '<path>': <reason>. A full disk adds what is free, and the bytes
/// that the file needs where they are known.
[[noreturn]] void fail_io(std::string_view action, const std::string& path, int error_number,
                          uint64_t needed = 0);

/// A regular file, open for reading. Pipes, folders and devices are refused before a byte is read.
class InputFile {
 public:
  explicit InputFile(std::string path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  int fd() const { return fd_.get(); }

  /// Fills dst from `offset`; E_FORMAT where the file ends before that.
  void read_exact(void* dst, size_t bytes, uint64_t offset) const;
  /// Reads what is there, up to `bytes`; less only at the end of the file.
  size_t read_some(void* dst, size_t bytes, uint64_t offset) const;

 private:
  std::string path_;
  Fd fd_;
  uint64_t size_ = 0;
};

/// A file that appears under its name complete and durable, or not at all. Written beside its
/// target under a random hidden name; commit() syncs it, renames it over the target and syncs the
/// folder. Destroyed without commit() it leaves nothing, and what was there before stays.
class AtomicFile {
 public:
  static constexpr size_t kBlock = 4096;

  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  const std::string& path() const { return path_; }
  /// Asks the file system for the room now, so that a full disk is noticed before the writing. The
  /// large parts of a large file then go past the page cache.
  void reserve(uint64_t bytes);
  void write(const void* data, size_t bytes);
  /// Anywhere in the file, from any thread; asks the disk to begin with it. Fastest where data lies
  /// in memory as in the file: as far behind a multiple of kBlock.
  void write_at(const void* data, size_t bytes, uint64_t offset);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail_and_discard(std::string_view action, int error_number);
  void discard() noexcept;
  void put(const char* from, size_t bytes, uint64_t offset);
  bool put_direct(const char* from, size_t bytes, uint64_t offset);

  std::string path_, name_, temporary_;  // the last two relative to the folder
  Fd folder_, fd_;
  uint64_t needed_ = 0, written_ = 0;
  Fd direct_;  // the same file, past the page cache; closed where that is not worth it or can't be
};

/// Removes the temporaries that killed writers of `path` left behind. Call it under the file's
/// lock.
void remove_stale_temporaries(const std::string& path);
/// The name of the file that a temporary was for (cut short where it is long); empty where `name`
/// is no temporary's.
std::string_view target_of_temporary(std::string_view name);

/// Exclusive between processes and between threads, through flock. The file stays for ever: a lock
/// that is deleted can be held twice. Its content (pid, host) serves messages only, its age
/// nothing.
class FileLock {
 public:
  /// Waits up to timeout_s, then throws E_LOCK_TIMEOUT naming the holder.
  explicit FileLock(std::string lock_path, double timeout_s = 30);
  static std::string path_for(const std::string& path) { return path + ".lock"; }

 private:
  Fd fd_;
};

bool exists(const std::string& path);
uint64_t file_size(const std::string& path);
/// With its parents, each durable once this returns; fine where they are there.
void make_dirs(const std::string& path);
/// Names in the folder, sorted, without "." and "..".
std::vector<std::string> list_dir(const std::string& path);
/// True if it was there.
bool remove_file(const std::string& path);
void copy_file(const std::string& from, const std::string& to);
std::string read_text(const std::string& path, uint64_t max_bytes = uint64_t{1} << 30);
void write_text_atomic(const std::string& path, std::string_view text);

/// Folder and name of a path: {"a/b", "c"}, {".", "c"}, {"/", "c"}.
std::pair<std::string, std::string> split_path(const std::string& path);
/// Refuses an empty path and one with a NUL byte.
void check_path(const std::string& path);
/// Refuses to put a file in the place of a folder, or of a device, pipe or socket (also behind a
/// link): whoever writes to /dev/null by mistake must not take it away from everybody.
void check_target(const std::string& path);

}  // namespace rille::io
