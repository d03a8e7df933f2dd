#include "interpreter/lua/pattern.h"

#include <cctype>
#include <cstring>
#include <lua.hpp>

#include "interpreter/lua/limits.h"

namespace rille::lua {
namespace {

int byte(char c) { return static_cast<unsigned char>(c); }

// %a, %d, ... and their complements in upper case; any other character stands for itself.
bool in_class(int c, int name) {
  bool yes = false;
  switch (std::tolower(name)) {
    case 'a': yes = std::isalpha(c); break;
    case 'c': yes = std::iscntrl(c); break;
    case 'd': yes = std::isdigit(c); break;
    case 'g': yes = std::isgraph(c); break;
    case 'l': yes = std::islower(c); break;
    case 'p': yes = std::ispunct(c); break;
    case 's': yes = std::isspace(c); break;
    case 'u': yes = std::isupper(c); break;
    case 'w': yes = std::isalnum(c); break;
    case 'x': yes = std::isxdigit(c); break;
    case 'z': yes = c == 0; break;
    default: return name == c;
  }
  return std::isupper(name) ? !yes : yes;
}

// `p` is at '[', `last` at the ']' that ends the set.
bool in_set(int c, const char* p, const char* last) {
  const bool inverted = p[1] == '^';
  for (p += inverted ? 2 : 1; p < last; ++p) {
    if (*p == '%') {
      ++p;
      if (in_class(c, byte(*p))) return !inverted;
    } else if (p[1] == '-' && p + 2 < last) {
      if (byte(*p) <= c && c <= byte(p[2])) return !inverted;
      p += 2;
    } else if (byte(*p) == c) {
      return !inverted;
    }
  }
  return inverted;
}

}  // namespace

void Matcher::step() {
  if (++steps_ < kSteps) return;
  steps_ = 0;
  spend(L_, in_, kSteps);
}

const char* Matcher::match(const char* at) {
  level_ = depth_ = 0;
  return run(at, pattern_);
}

// The end of the single item (a character, a class or a set) that begins at `p`.
const char* Matcher::item_end(const char* p) const {
  const char first = *p++;
  if (first == '%') {
    if (p == pattern_end_) luaL_error(L_, "malformed pattern (ends with '%%')");
    return p + 1;
  }
  if (first != '[') return p;
  if (p < pattern_end_ && *p == '^') ++p;
  // A ']' that comes first belongs to the set.
  for (bool at_start = true; at_start || *p != ']'; at_start = false) {
    if (p == pattern_end_) luaL_error(L_, "malformed pattern (missing ']')");
    p += *p == '%' ? 2 : 1;
    if (p >= pattern_end_) luaL_error(L_, "malformed pattern (missing ']')");
  }
  return p + 1;
}

bool Matcher::fits(const char* s, const char* p, const char* after) const {
  if (s >= end_) return false;
  const int c = byte(*s);
  switch (*p) {
    case '.': return true;
    case '%': return in_class(c, byte(p[1]));
    case '[': return in_set(c, p, after - 1);
    default: return byte(*p) == c;
  }
}

// Tail calls of the grammar are the loop; what may have to try again is a call.
const char* Matcher::run(const char* s, const char* p) {
  if (++depth_ > kDepth) luaL_error(L_, "pattern too complex");
  while (s && p < pattern_end_) {
    step();
    if (*p == '(' || *p == ')') {
      s = *p == '(' ? opened(s, p) : closed(s, p);
      break;
    }
    if (*p == '$' && p + 1 == pattern_end_) {
      if (s != end_) s = nullptr;
      break;
    }
    const char next = *p == '%' && p + 1 < pattern_end_ ? p[1] : '\0';
    if (next == 'b') {
      s = balanced(s, p + 2);
      p += 4;
    } else if (next == 'f') {
      p += 2;
      if (p == pattern_end_ || *p != '[') luaL_error(L_, "missing '[' after '%%f' in pattern");
      const char* after = item_end(p);
      if (!at_frontier(s, p, after)) s = nullptr;
      p = after;
    } else if (std::isdigit(byte(next))) {
      s = again(s, next);
      p += 2;
    } else {
      const char* after = item_end(p);
      const char sign = after < pattern_end_ ? *after : '\0';
      if (sign == '?' || sign == '*' || sign == '+' || sign == '-') {
        s = repeated(s, p, after);
        break;
      }
      s = fits(s, p, after) ? s + 1 : nullptr;
      p = after;
    }
  }
  --depth_;
  return s;
}

const char* Matcher::repeated(const char* s, const char* p, const char* after) {
  const char* rest = after + 1;
  switch (*after) {
    case '*': return longest(s, p, after);
    case '+': return fits(s, p, after) ? longest(s + 1, p, after) : nullptr;
    case '-': return shortest(s, p, after);
    default: break;
  }
  if (fits(s, p, after))
    if (const char* end = run(s + 1, rest)) return end;
  return run(s, rest);
}

const char* Matcher::longest(const char* s, const char* p, const char* after) {
  const char* furthest = s;
  for (; fits(furthest, p, after); ++furthest) step();
  for (;; --furthest) {
    step();
    if (const char* end = run(furthest, after + 1)) return end;
    if (furthest == s) return nullptr;
  }
}

const char* Matcher::shortest(const char* s, const char* p, const char* after) {
  for (;; ++s) {
    step();
    if (const char* end = run(s, after + 1)) return end;
    if (!fits(s, p, after)) return nullptr;
  }
}

const char* Matcher::opened(const char* s, const char* p) {
  if (level_ >= kCaptures) luaL_error(L_, "too many captures");
  const bool position = p + 1 < pattern_end_ && p[1] == ')';
  captures_[level_++] = {s, position ? kPosition : kOpen};
  const char* end = run(s, p + (position ? 2 : 1));
  if (!end) --level_;
  return end;
}

const char* Matcher::closed(const char* s, const char* p) {
  int i = level_;
  while (--i >= 0 && captures_[i].size != kOpen) continue;
  if (i < 0) luaL_error(L_, "invalid pattern capture");
  captures_[i].size = s - captures_[i].at;
  const char* end = run(s, p + 1);
  if (!end) captures_[i].size = kOpen;
  return end;
}

// %bxy: `p` is at x.
const char* Matcher::balanced(const char* s, const char* p) {
  if (p + 1 >= pattern_end_) luaL_error(L_, "malformed pattern (missing arguments to '%%b')");
  if (s >= end_ || *s != *p) return nullptr;
  const char open = p[0], close = p[1];
  int64_t inside = 1;
  while (++s < end_) {
    step();
    if (*s == close) {
      if (--inside == 0) return s + 1;
    } else if (*s == open) {
      ++inside;
    }
  }
  return nullptr;
}

// %1 to %9: what that capture caught. A position is no text: nothing matches it.
const char* Matcher::again(const char* s, char digit) {
  const int i = digit - '1';
  if (i < 0 || i >= level_ || captures_[i].size == kOpen)
    luaL_error(L_, "invalid capture index %%%d", i + 1);
  const ptrdiff_t size = captures_[i].size;
  if (size == kPosition) return nullptr;
  spend(L_, in_, size / 64);
  if (end_ - s < size || std::memcmp(captures_[i].at, s, static_cast<size_t>(size)) != 0)
    return nullptr;
  return s + size;
}

// %f[set]: from outside of the set to its inside; both ends of the subject count as '\0'.
bool Matcher::at_frontier(const char* s, const char* p, const char* after) const {
  const int before = s == begin_ ? 0 : byte(s[-1]), here = s < end_ ? byte(*s) : 0;
  return !in_set(before, p, after - 1) && in_set(here, p, after - 1);
}

void Matcher::push_capture(int i, const char* from, const char* to) const {
  if (i >= level_) {
    if (i != 0) luaL_error(L_, "invalid capture index %%%d", i + 1);
    lua_pushlstring(L_, from, static_cast<size_t>(to - from));
    return;
  }
  const Capture& c = captures_[i];
  if (c.size == kOpen) luaL_error(L_, "unfinished capture");
  if (c.size == kPosition)
    lua_pushinteger(L_, c.at - begin_ + 1);
  else
    lua_pushlstring(L_, c.at, static_cast<size_t>(c.size));
}

int Matcher::push_captures(const char* from, const char* to, bool or_whole) const {
  const int n = level_ == 0 && or_whole ? 1 : level_;
  luaL_checkstack(L_, n, "too many captures");
  for (int i = 0; i < n; ++i) push_capture(i, from, to);
  return n;
}

}  // namespace rille::lua
