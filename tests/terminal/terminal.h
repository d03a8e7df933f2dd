// A program at a terminal of its own, and somebody who types: for tests of what only a person
// meets.
#pragma once
#include <chrono>
#include <initializer_list>
#include <string>
#include <utility>

namespace rille::test {

class Terminal {
 public:
  using Variables = std::initializer_list<std::pair<const char*, std::string>>;

  /// Starts the program with these arguments and environment variables, 80 columns wide. Where the
  /// system has no terminals the test is skipped.
  Terminal(std::initializer_list<std::string> command, Variables variables);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  void type(const std::string& keys);
  /// Reads until the screen has shown `text` since the last call of this; false after that time.
  bool shows(const std::string& text, std::chrono::seconds within = std::chrono::seconds(20));
  /// What was shown since the last text that shows() found.
  const std::string& rest() const { return unread_; }
  /// Reads on until the program has ended; its exit status, 128 + signal, or -1 after twenty
  /// seconds.
  int status();

 private:
  bool read_more(int milliseconds);
  bool has_ended() const;

  int screen_ = -1;
  int process_ = -1;
  std::string unread_;
};

inline constexpr const char* kCtrlC = "\x03";
inline constexpr const char* kCtrlD = "\x04";
inline constexpr const char* kTab = "\t";
inline constexpr const char* kUp = "\x1b[A";

}  // namespace rille::test
