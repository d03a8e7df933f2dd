#include "io/last_name.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <system_error>

#include "io/background.h"

namespace rille::io {
namespace {

constexpr off_t kLarge = off_t{16} << 20;  // below this a thread costs more than the waiting

/// One file at a time. Its end is waited for by the next file to be written, by the process at its
/// end, and by fork(), whose child would hold the file and look for a thread that it does not have.
class Freeing {
 public:
  static Freeing& one() {
    static Freeing freeing;
    return freeing;
  }
  void take(Fd fd) {
    const std::lock_guard lock(mutex_);
    const auto held = std::make_shared<Fd>(std::move(fd));
    background_.start([held] { held->close(); });
  }
  void wait() {
    const std::lock_guard lock(mutex_);
    background_.wait();
  }

 private:
  Freeing() { ::pthread_atfork(before_fork, after_fork, after_fork); }
  static void before_fork() {
    one().mutex_.lock();
    one().background_.wait();
  }
  static void after_fork() { one().mutex_.unlock(); }

  std::mutex mutex_;
  Background background_;
};

}  // namespace

LastName::LastName(int folder, const std::string& name)
    : fd_(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {
  struct stat st {};
  large_ = fd_ && ::fstat(fd_.get(), &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           st.st_size >= kLarge;
}

LastName::~LastName() {
  if (!large_) return;
  try {
    Freeing::one().take(std::move(fd_));
  } catch (const std::exception&) {  // no memory or no thread: it's closed here, a little later
  }
}

void wait_until_freed() { Freeing::one().wait(); }

}  // namespace rille::io
