#include "io/file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "io/last_name.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::Error;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::mentions;
using rille::test::TempDir;

namespace {

/// Runs the body in a process of its own; its exit status (0: all well).
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int result = 99;
    try {
      result = body();
    } catch (...) {
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

mode_t mode_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return st.st_mode & 0777;
}

/// Has this process in the folder a file open that has no name any more?
bool holds_deleted(const std::string& folder) {
  for (const std::string& fd : list_dir("/proc/self/fd")) {
    char target[4096];
    const ssize_t n = ::readlink(("/proc/self/fd/" + fd).c_str(), target, sizeof target);
    const std::string_view path(target, n > 0 ? static_cast<size_t>(n) : 0);
    if (path.starts_with(folder) && path.ends_with(" (deleted)")) return true;
  }
  return false;
}

void write_megabytes(const std::string& path, uint64_t n) {
  const std::string megabyte(1 << 20, 'x');
  AtomicFile file(path);
  file.reserve(n << 20);
  for (uint64_t i = 0; i < n; ++i) file.write_at(megabyte.data(), megabyte.size(), i << 20);
  file.commit();
}

/// Saves over an old file until the room ends; 0 where every failure was as promised.
int fill_up(const std::string& folder) {
  const std::string path = folder + "/f";
  write_text_atomic(path, "old");
  const std::string big(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    try {
      write_text_atomic(path, big);
      return 1;
    } catch (const Error& e) {
      if (e.code() != "E_IO" || !mentions(e, path)) return 2;
    }
    if (read_text(path) != "old") return 3;
    if (list_dir(folder).size() != 1) return 4;
  }
  return 0;
}

}  // namespace

TEST_CASE("atomic file: appears on commit, leaves nothing without", "[io]") {
  TempDir dir;
  const std::string path = dir / "a";
  write_text_atomic(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    CHECK(read_text(path) == "old");
    CHECK(list_dir(dir.path()).size() == 2);
  }
  CHECK(read_text(path) == "old");
  CHECK(list_dir(dir.path()) == std::vector<std::string>{"a"});
  AtomicFile file(path);
  file.reserve(3);
  file.write("new");
  file.commit();
  CHECK(read_text(path) == "new");
  CHECK(code_of([&] { file.commit(); }) == "E_INTERNAL");
}

TEST_CASE("atomic file: final mode follows the umask", "[io]") {
  TempDir dir;
  const mode_t before = ::umask(027);
  write_text_atomic(dir / "a", "x");
  ::umask(0);
  write_text_atomic(dir / "b", "x");
  ::umask(before);
  CHECK(mode_of(dir / "a") == 0640);
  CHECK(mode_of(dir / "b") == 0666);
}

TEST_CASE("atomic file: bad targets", "[io]") {
  TempDir dir;
  make_dirs(dir / "folder");
  for (const std::string& path : {dir / "folder", dir / "none/f", dir / "", std::string(),
                                  dir / std::string("a\0b", 3), dir / std::string(300, 'n')}) {
    const Error e = error_of([&] { write_text_atomic(path, "x"); });
    CHECK(e.code() == "E_IO");
  }
  CHECK(mentions(error_of([&] { write_text_atomic(dir / "none/f", "x"); }), "No such file"));
  CHECK(list_dir(dir.path()) == std::vector<std::string>{"folder"});
  write_text_atomic(dir / std::string(255, 'n'), "long");  // NAME_MAX itself is fine
  CHECK(read_text(dir / std::string(255, 'n')) == "long");
}

TEST_CASE("atomic file: a pipe is not replaced, nor behind a link", "[io]") {
  TempDir dir;
  const std::string pipe = dir / "pipe", link = dir / "link";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE(::symlink("pipe", link.c_str()) == 0);
  for (const std::string& path : {pipe, link})
    CHECK(mentions(error_of([&] { write_text_atomic(path, "x"); }), "not a regular file"));
  CHECK(list_dir(dir.path()) == std::vector<std::string>{"link", "pipe"});
}

TEST_CASE("atomic file: a link as target is replaced, not followed", "[io]") {
  TempDir dir;
  write_text_atomic(dir / "victim", "precious");
  REQUIRE(::symlink("victim", (dir / "link").c_str()) == 0);
  write_text_atomic(dir / "link", "new");
  CHECK(read_text(dir / "victim") == "precious");
  CHECK(read_text(dir / "link") == "new");
}

TEST_CASE("atomic file: the parent swapped in the middle of a save", "[io]") {
  TempDir dir;
  make_dirs(dir / "real");
  make_dirs(dir / "elsewhere");
  AtomicFile file(dir / "real/f");
  file.write("x");
  REQUIRE(::rename((dir / "real").c_str(), (dir / "moved").c_str()) == 0);
  REQUIRE(::symlink("elsewhere", (dir / "real").c_str()) == 0);
  file.commit();
  CHECK(list_dir(dir / "elsewhere").empty());
  CHECK(read_text(dir / "moved/f") == "x");
}

TEST_CASE("atomic file: read-only folder", "[io]") {
  TempDir dir;
  REQUIRE(::chmod(dir.path().c_str(), 0555) == 0);
  const int result = in_child([&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return 0;  // root is not stopped by modes
    try {
      write_text_atomic(dir / "f", "x");
      return 1;
    } catch (const Error& e) {
      return e.code() == "E_IO" && mentions(e, "Permission denied") ? 0 : 2;
    }
  });
  CHECK(result == 0);
  CHECK(list_dir(dir.path()).empty());
}

TEST_CASE("atomic file: full disk keeps the old file and leaves nothing", "[io]") {
  TempDir dir;
  const int result = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0)
      return 77;
    const int plain = fill_up(dir.path());
    if (plain != 0) return plain;
    try {
      AtomicFile(dir / "g").reserve(1 << 20);
      return 5;
    } catch (const Error& e) {
      return mentions(e, "No space left") && mentions(e, "needed       1048576 bytes") &&
                     mentions(e, "free         ")
                 ? 0
                 : 6;
    }
  });
  if (result == 77)
    WARN("no rights to mount a small disk: not tried");
  else
    CHECK(result == 0);
}

TEST_CASE("large files without a name are freed beside the caller, and nobody holds them", "[io]") {
  TempDir dir;
  write_megabytes(dir / "f", 32);
  write_megabytes(dir / "f", 32);
  CHECK(in_child([&] { return holds_deleted(dir.path()) ? 1 : 0; }) == 0);
  remove_file(dir / "f");
  CHECK(list_dir(dir.path()).empty());
  wait_until_freed();
  CHECK(!holds_deleted(dir.path()));
}

TEST_CASE("a disk with room for two large files takes one saved over itself again and again",
          "[io]") {
  TempDir dir;
  const int result = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=50m") != 0)
      return 77;
    for (int i = 0; i < 30; ++i) write_megabytes(dir / "f", 20);
    wait_until_freed();
    return 0;
  });
  if (result == 77)
    WARN("no rights to mount a small disk: not tried");
  else
    CHECK(result == 0);
}

TEST_CASE("atomic file: a limit on file size keeps the old file", "[io]") {
  TempDir dir;
  const int result = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { 65536, 65536 };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 7;
    return fill_up(dir.path());
  });
  CHECK(result == 0);
}

TEST_CASE("input file: only regular files", "[io]") {
  TempDir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  REQUIRE(::symlink("loop", (dir / "loop").c_str()) == 0);
  REQUIRE(::symlink("gone", (dir / "dangling").c_str()) == 0);
  for (const std::string& path : {dir / "pipe", dir / "loop", dir / "dangling", dir.path(),
                                  std::string("/dev/zero"), std::string("/dev/null")}) {
    const Error e = error_of([&] { InputFile file(path); });
    CHECK(e.code() == "E_IO");
    CHECK(mentions(e, path));
  }
}

TEST_CASE("input file: exact reads", "[io]") {
  TempDir dir;
  write_text_atomic(dir / "f", "0123456789");
  const InputFile file(dir / "f");
  CHECK(file.size() == 10);
  char text[8];
  file.read_exact(text, 4, 6);
  CHECK(std::string(text, 4) == "6789");
  const Error e = error_of([&] { file.read_exact(text, 4, 8); });
  CHECK(e.code() == "E_FORMAT");
  CHECK(mentions(e, "ends at byte 10"));
  CHECK(code_of([&] { read_text(dir / "f", 9); }) == "E_IO");
}

TEST_CASE("folders and copies", "[io]") {
  TempDir dir;
  make_dirs(dir / "a/b/c");
  make_dirs(dir / "a/b/c");
  for (const char* name : {"z", "B", "a1"})
    write_text_atomic(dir / ("a/" + std::string(name)), name);
  CHECK(list_dir(dir / "a") == std::vector<std::string>{"B", "a1", "b", "z"});
  CHECK(code_of([&] { make_dirs(dir / "a/z"); }) == "E_IO");
  CHECK(code_of([&] { list_dir(dir / "none"); }) == "E_IO");
  const std::string big(3 << 20, 'q');
  write_text_atomic(dir / "big", big);
  copy_file(dir / "big", dir / "copy");
  CHECK(read_text(dir / "copy") == big);
  CHECK(file_size(dir / "copy") == big.size());
  CHECK(remove_file(dir / "copy"));
  CHECK_FALSE(remove_file(dir / "copy"));
  CHECK_FALSE(exists(dir / "copy"));
}

TEST_CASE("stale temporaries: only those of the file", "[io]") {
  TempDir dir;
  write_text_atomic(dir / ".f.0123456789abcdef.tmp", "stale");
  write_text_atomic(dir / ".g.0123456789abcdef.tmp", "another's");
  write_text_atomic(dir / ".f.notes.tmp", "a user's");
  remove_stale_temporaries(dir / "f");
  CHECK(list_dir(dir.path()) ==
        std::vector<std::string>{".f.notes.tmp", ".g.0123456789abcdef.tmp"});
}

TEST_CASE("lock: excludes, times out naming the holder, and is let go", "[io]") {
  TempDir dir;
  const std::string path = FileLock::path_for(dir / "f");
  {
    const FileLock held(path);
    const auto start = std::chrono::steady_clock::now();
    const Error e = error_of([&] { FileLock second(path, 0.05); });
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
    CHECK(e.code() == "E_LOCK_TIMEOUT");
    CHECK(mentions(e, "pid " + std::to_string(::getpid())));
  }
  const FileLock again(path, 0);
  CHECK(exists(path));
}

TEST_CASE("lock: a killed holder's lock is free at once", "[io]") {
  TempDir dir;
  const std::string path = dir / "f.lock";
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock held(path);
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char c;
  REQUIRE(::read(ready[0], &c, 1) == 1);
  CHECK(mentions(error_of([&] { FileLock lock(path, 0); }), "pid " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto start = std::chrono::steady_clock::now();
  const FileLock lock(path, 1);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(100));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("lock: hostile lock files", "[io]") {
  TempDir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  REQUIRE(::symlink("/etc/passwd", (dir / "link").c_str()) == 0);
  for (const char* name : {"pipe", "link", "", "none/f"})
    CHECK(code_of([&] { FileLock lock(dir / name, 0); }) == "E_IO");
}
