// Lines from a terminal: editing, history, completion. Around libedit.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rille::shell {

/// What may stand in the place of the last `replaced` bytes before the cursor.
struct Completions {
  std::vector<std::string> candidates;
  size_t replaced = 0;
};

class LineEditor {
 public:
  using Complete = std::function<Completions(std::string_view before_cursor)>;

  /// History is kept in that file from session to session; in none where the path is empty.
  LineEditor(Complete complete, std::string history_path);
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor();

  enum class Read { line, given_up, end };
  /// A line without its end. given_up: Ctrl-C. end: Ctrl-D on an empty line, or the terminal is
  /// gone.
  Read read(const char* prompt, std::string& line);
  /// Adds an input, which may have several lines, to the history.
  void remember(const std::string& input);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rille::shell
