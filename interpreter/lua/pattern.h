// Lua's patterns, matched under a budget: the stock matcher takes exponential time for some and
// can't be stopped. Owns nothing, so Lua may raise through it.
#pragma once
#include <cstddef>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

class Matcher {
 public:
  Matcher(lua_State* L, Interpreter& in, const char* subject, size_t size, const char* pattern,
          size_t pattern_size)
      : L_(L),
        in_(in),
        begin_(subject),
        end_(subject + size),
        pattern_(pattern),
        pattern_end_(pattern + pattern_size) {}

  /// Where a match that begins at `at` ends, or null. Raises for a malformed pattern.
  const char* match(const char* at);
  /// Skips the pattern's first byte, an anchor.
  void skip_anchor() { ++pattern_; }

  /// Pushes the captures of the last match; the whole of it, from `from` to `to`, where the pattern
  /// has none and it is asked for. Gives how many.
  int push_captures(const char* from, const char* to, bool or_whole) const;
  /// Pushes one, counted from 0; the whole match where there is none.
  void push_capture(int i, const char* from, const char* to) const;

 private:
  static constexpr int kCaptures = 32, kDepth = 200, kSteps = 256;
  static constexpr ptrdiff_t kOpen = -1, kPosition = -2;
  struct Capture {
    const char* at;
    ptrdiff_t size;  // or one of the above
  };

  const char* run(const char* s, const char* p);
  const char* repeated(const char* s, const char* p, const char* after);
  const char* longest(const char* s, const char* p, const char* after);
  const char* shortest(const char* s, const char* p, const char* after);
  const char* opened(const char* s, const char* p);
  const char* closed(const char* s, const char* p);
  const char* balanced(const char* s, const char* p);
  const char* again(const char* s, char digit);
  bool at_frontier(const char* s, const char* p, const char* after) const;
  const char* item_end(const char* p) const;
  bool fits(const char* s, const char* p, const char* after) const;
  void step();

  lua_State* L_;
  Interpreter& in_;
  const char *begin_, *end_, *pattern_, *pattern_end_;
  int depth_ = 0, level_ = 0, steps_ = 0;
  Capture captures_[kCaptures];
};

}  // namespace rille::lua
