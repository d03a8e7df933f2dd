// Where a script's output goes: print, io.stdout and io.stderr of one interpreter write to streams
// of the host's instead of the process's. A stream hands over whole lines, and what is left of the
// last one when it is flushed.
#pragma once
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

namespace rille::lua {

struct Interpreter;

/// Takes text, on the script's thread or on one of a data loader's workers, one at a time. What it
/// throws makes the write fail.
using Sink = std::function<void(std::string_view)>;

class OutputStream {
 public:
  /// Throws std::bad_alloc.
  explicit OutputStream(Sink sink);
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  std::FILE* file() const { return file_; }
  /// Whether the calling thread is in the sink.
  bool busy() const { return state_->writer == std::this_thread::get_id(); }
  void flush() const { std::fflush(file_); }

 private:
  struct State {
    Sink sink;
    std::atomic<std::thread::id> writer;
  };
  static ssize_t write(void* state, const char* text, size_t size) noexcept;
  std::unique_ptr<State> state_;
  std::FILE* file_;
};

/// io.stdout, io.stderr and the default output become in.out and in.log. May raise: under pcall
/// only.
void redirect_io(Interpreter& in);

}  // namespace rille::lua
