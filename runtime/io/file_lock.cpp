#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/fail.h"
#include "io/file.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

std::string holder(int fd) {
  char text[256];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  std::string_view line(text, n > 0 ? static_cast<size_t>(n) : 0);
  line = line.substr(0, line.find('\n'));
  return line.empty() ? "unknown" : shown(line);
}

/// Who holds it, for the message of whoever waits in vain. Not essential, so failures are passed
/// by.
void sign(int fd) {
  char host[256] = "unknown";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const std::string line = fmt::format("pid {} host {}\n", ::getpid(), host);
  if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, line.data(), line.size(), 0);
}

Fd open_lock(const std::string& path) {
  check_path(path);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!fd) fail_io("lock", path, errno);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) fail_io("lock", path, errno);
  if (!S_ISREG(st.st_mode)) throw io_error("cannot lock '{}': not a regular file", shown(path));
  return fd;
}

}  // namespace

// flock and not POSIX record locks: those go when any other descriptor of the file is closed, and
// threads of one process do not exclude each other.
FileLock::FileLock(std::string lock_path, double timeout_s) : fd_(open_lock(lock_path)) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr double kLongest = 1e9;  // "for ever", and still a time that the clock can hold
  const double wait_s = std::isnan(timeout_s) ? 0 : std::clamp(timeout_s, 0.0, kLongest);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(wait_s));
  auto pause = std::chrono::milliseconds(1);
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) fail_io("lock", lock_path, errno);
    if (Clock::now() >= deadline)
      throw fail(Kind::data, "E_LOCK_TIMEOUT", "'{}' is held by another process, waited {:g} s",
                 shown(lock_path), wait_s)
          .fact("holder       " + holder(fd_.get()));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
  sign(fd_.get());
}

}  // namespace rille::io
