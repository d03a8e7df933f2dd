#include "interpreter/shell/line_editor.h"

#include <fmt/format.h>
#include <histedit.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "interpreter/bind/terminal.h"

namespace rille::shell {
namespace {

constexpr int kHistory = 2000;  // inputs

struct EndEditing {
  void operator()(EditLine* e) const { el_end(e); }
};
struct EndHistory {
  void operator()(History* h) const { history_end(h); }
};

// In columns, read downwards.
void print_columns(const std::vector<std::string>& list) {
  size_t widest = 0;
  for (const std::string& s : list) widest = std::max(widest, s.size() + 2);
  const auto width = static_cast<size_t>(bind::columns_of(STDOUT_FILENO));
  const size_t columns = std::max<size_t>(1, width / widest),
               rows = (list.size() + columns - 1) / columns;
  std::fputc('\n', stdout);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = r; i < list.size(); i += rows) fmt::print("{:<{}}", list[i], widest);
    std::fputc('\n', stdout);
  }
}

size_t common_prefix(const std::vector<std::string>& list) {
  size_t n = list[0].size();
  for (const std::string& s : list) {
    const auto differ =
        std::mismatch(list[0].begin(), list[0].begin() + static_cast<long>(n), s.begin(), s.end());
    n = static_cast<size_t>(differ.first - list[0].begin());
  }
  return n;
}

}  // namespace

struct LineEditor::State {
  std::unique_ptr<History, EndHistory> history{history_init()};
  std::unique_ptr<EditLine, EndEditing> editing;
  Complete complete;
  std::string history_path;
  const char* prompt = "";
  bool given_up = false;

  static State& of(EditLine* e) {
    State* s = nullptr;
    el_get(e, EL_CLIENTDATA, &s);
    return *s;
  }
  static char* prompt_of(EditLine* e) { return const_cast<char*>(of(e).prompt); }

  // Nothing may be thrown through libedit.
  static unsigned char on_tab(EditLine* e, int) noexcept {
    try {
      return of(e).tab(e);
    } catch (const std::exception&) {
      return CC_REFRESH_BEEP;
    }
  }
  unsigned char tab(EditLine* e) const {
    const LineInfo* at = el_line(e);
    const std::string_view before(at->buffer, static_cast<size_t>(at->cursor - at->buffer));
    const Completions found = complete(before);
    if (found.candidates.empty()) return CC_REFRESH_BEEP;
    const size_t known = common_prefix(found.candidates);
    if (known > found.replaced) {
      const std::string more = found.candidates[0].substr(found.replaced, known - found.replaced);
      return el_insertstr(e, more.c_str()) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
    }
    if (found.candidates.size() == 1) return CC_REFRESH_BEEP;
    print_columns(found.candidates);
    std::fflush(stdout);
    return CC_REDISPLAY;
  }

  static unsigned char on_interrupt(EditLine* e, int) noexcept {
    of(e).given_up = true;
    return CC_NEWLINE;
  }
  static unsigned char on_suspend(EditLine* e, int) noexcept {
    el_set(e, EL_PREP_TERM, 0);
    raise(SIGTSTP);
    el_set(e, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
  }
};

LineEditor::LineEditor(Complete complete, std::string history_path)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.complete = std::move(complete);
  s.history_path = std::move(history_path);
  s.editing.reset(el_init("rille", stdin, stdout, stderr));
  EditLine* e = s.editing.get();
  el_set(e, EL_CLIENTDATA, &s);
  el_set(e, EL_EDITOR, "emacs");
  el_set(e, EL_PROMPT, &State::prompt_of);
  el_set(e, EL_HIST, history, s.history.get());
  el_set(e, EL_ADDFN, "rille-complete", "complete the word", &State::on_tab);
  el_set(e, EL_ADDFN, "rille-interrupt", "give up the input", &State::on_interrupt);
  el_set(e, EL_ADDFN, "rille-suspend", "suspend the program", &State::on_suspend);
  el_set(e, EL_BIND, "\t", "rille-complete", nullptr);
  el_set(e, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(e, nullptr);  // the user's ~/.editrc
  // Keys that are signals elsewhere are keys while a line is edited.
  el_set(e, EL_SETTY, "-d", "-isig", nullptr);
  el_set(e, EL_BIND, "^C", "rille-interrupt", nullptr);
  el_set(e, EL_BIND, "^Z", "rille-suspend", nullptr);
  HistEvent event{};
  ::history(s.history.get(), &event, H_SETSIZE, kHistory);
  ::history(s.history.get(), &event, H_SETUNIQUE, 1);
  if (!s.history_path.empty()) ::history(s.history.get(), &event, H_LOAD, s.history_path.c_str());
}

LineEditor::~LineEditor() = default;

LineEditor::Read LineEditor::read(const char* prompt, std::string& line) {
  State& s = *state_;
  s.prompt = prompt;
  s.given_up = false;
  // el_gets shows the prompt first; keys that come in between would not be ours yet.
  el_set(s.editing.get(), EL_PREP_TERM, 1);
  int bytes = 0;
  const char* text = el_gets(s.editing.get(), &bytes);
  if (s.given_up) {
    std::fputs("^C\n", stdout);
    return Read::given_up;
  }
  if (!text || bytes <= 0) return Read::end;
  line.assign(text, static_cast<size_t>(bytes));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return Read::line;
}

void LineEditor::remember(const std::string& input) {
  State& s = *state_;
  HistEvent event{};
  ::history(s.history.get(), &event, H_ENTER, input.c_str());
  if (!s.history_path.empty()) ::history(s.history.get(), &event, H_SAVE, s.history_path.c_str());
}

}  // namespace rille::shell
