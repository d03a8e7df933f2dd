#include "terminal/terminal.h"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace rille::test {

Terminal::Terminal(std::initializer_list<std::string> command, Variables variables) {
  winsize size{};
  size.ws_col = 80, size.ws_row = 24;
  process_ = forkpty(&screen_, nullptr, nullptr, &size);
  if (process_ < 0) {  // a container without /dev/pts
    std::puts("skipped: there is no terminal to be had");
    std::exit(77);
  }
  if (process_ > 0) return;
  std::vector<char*> words;
  for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  setenv("TERM", "xterm", 1);
  setenv("LSAN_OPTIONS", "suppressions=" RILLE_TEST_DIR "/terminal/libedit_leaks.txt", 1);
  for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
  execv(words[0], words.data());
  _exit(127);
}

Terminal::~Terminal() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(screen_);
}

void Terminal::type(const std::string& keys) {
  for (size_t done = 0; done < keys.size();) {
    const ssize_t n = write(screen_, keys.data() + done, keys.size() - done);
    if (n <= 0) throw std::runtime_error("the terminal takes no keys");
    done += static_cast<size_t>(n);
  }
}

bool Terminal::read_more(int milliseconds) {
  pollfd ready{screen_, POLLIN, 0};
  if (poll(&ready, 1, milliseconds) <= 0) return false;
  char piece[4096];
  const ssize_t n = read(screen_, piece, sizeof piece);
  if (n <= 0) return false;  // the program has ended
  unread_.append(piece, static_cast<size_t>(n));
  return true;
}

// It stays to be waited for.
bool Terminal::has_ended() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process_;
}

bool Terminal::shows(const std::string& text, std::chrono::seconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  for (;;) {
    if (const size_t at = unread_.find(text); at != unread_.npos) {
      unread_.erase(0, at + text.size());
      return true;
    }
    if (std::chrono::steady_clock::now() > end) return false;
    if (!read_more(50) && has_ended() && !read_more(0)) return unread_.find(text) != unread_.npos;
  }
}

int Terminal::status() {
  int status = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    if (!read_more(50)) usleep(1000);
    if (waitpid(process_, &status, WNOHANG) != process_) continue;
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return -1;
}

}  // namespace rille::test
