// The library functions of interpreters with limits do what Lua's own do: the same chunk runs in an
// interpreter with limits and in one without, and both must say the same.
#include <catch2/catch.hpp>

#include <cstdio>
#include <memory>

#include "interpreter/bind/bind.h"
#include "interpreter/lua/open.h"

using rille::lua::Interpreter;

namespace {

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

// What the chunk prints; its error, where it has one.
std::string said(const char* chunk, bool limited) {
  const std::unique_ptr<std::FILE, CloseFile> printed(std::tmpfile());
  Interpreter in;
  in.out = printed.get();
  if (limited) in.policy.time_limit = 600;
  open_state(in, rille::bind::bind_all);
  const auto out = run_text(in, chunk, "=chunk", {});
  close_state(in);
  if (!out.error.empty()) return out.error;
  std::string text(static_cast<size_t>(std::ftell(printed.get())), '\0');
  std::rewind(printed.get());
  text.resize(std::fread(text.data(), 1, text.size(), printed.get()));
  return text;
}

void check_same(const char* chunk) {
  const std::string stock = said(chunk, false);
  CHECK(stock.starts_with("done:"));
  CHECK(said(chunk, true) == stock);
}

// Random patterns and subjects over few letters, so that many match; every result, or the error.
constexpr const char* kPatterns = R"lua(
  local pieces = { "a", "b", ".", "%a", "%d", "%W", "[ab]", "[^a]", "[a-c%d]", "[]x]", "[^]]", "%%",
    "(", ")", "()", "(a)", "(.)", "*", "+", "-", "?", "^", "$", "%1", "%2", "%b()", "%bab", "%f[a]",
    "%f[%A]", "[", "]", "%", "[a", "[%", "\0", "é", "[%a_][%w_]*", "%s", "%x", "%p", "%g", "%u" }
  local letters = { "a", "b", "c", "1", "(", ")", " ", "]", "\0", "%", "A", "é", "_" }
  local state = 12345
  local function random(n)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 33) % n + 1
  end
  local function text(from, most)
    local t = {}
    for i = 1, random(most + 1) - 1 do t[i] = from[random(#from)] end
    return table.concat(t)
  end
  local seen = {}
  local function note(what, ...)
    local t = table.pack(...)
    for i = 1, t.n do t[i] = tostring(t[i]) end
    seen[#seen + 1] = what .. ":" .. table.concat(t, ",")
  end
  for i = 1, 6000 do
    local p, s = text(pieces, 5), text(letters, 12)
    local from = random(30) - 15
    note("find", pcall(string.find, s, p, from))
    note("match", pcall(string.match, s, p, from))
    note("plain", pcall(string.find, s, p, from, true))
    note("gsub", pcall(string.gsub, s, p, "<%0>", random(6)))
    note("template", pcall(string.gsub, s, p, "%1%%%2"))
    note("table", pcall(string.gsub, s, p, { a = "X", b = false, [1] = 7 }))
    note("function", pcall(string.gsub, s, p, function(x, y) return y or (x == "a" and "Y") end))
    note("gmatch", pcall(function()
      local all = {}
      for x, y in s:gmatch(p, from) do all[#all + 1] = tostring(x) .. "/" .. tostring(y) end
      return table.concat(all, ";")
    end))
  end
  print("done:" .. table.concat(seen, "\n"))
)lua";

constexpr const char* kTables = R"lua(
  local seen = {}
  local function show(t)
    local keys = {}
    for k, v in pairs(t) do
      keys[#keys + 1] = tostring(k) .. "=" .. (type(v) == "table" and "table" or tostring(v))
    end
    table.sort(keys)
    return table.concat(keys, " ")
  end
  local function note(f, t, ...)
    local r = table.pack(pcall(f, t, ...))
    for i = 1, r.n do r[i] = type(r[i]) == "table" and "table" or tostring(r[i]) end
    -- Which argument is to blame differs between Lua's own versions.
    seen[#seen + 1] = table.concat(r, ","):gsub("argument #%d", "argument") .. "|" .. show(t)
  end
  local function list(n)
    local t = {}
    for i = 1, n do t[i] = (i * 7919) % 101 end
    return t
  end
  for n = 0, 6 do
    for at = -1, 9 do
      note(table.insert, list(n), at, "x")
      note(table.remove, list(n), at)
      for to = -1, 7 do
        note(table.move, list(n), at, to, 2)
        note(table.move, list(n), at, to, at - 1)
        note(table.concat, list(n), "-", at, to)
      end
    end
    note(table.insert, list(n), "x")
    note(table.insert, list(n))
    note(table.insert, list(n), 1, 2, 3)
    note(table.remove, list(n))
    note(table.concat, list(n))
    note(table.concat, { 1, {}, 3 })
  end
  note(table.move, list(3), math.mininteger, math.maxinteger, 1)
  note(table.move, list(3), 1, math.maxinteger, 2)
  note(table.move, list(3), 1, 3, math.maxinteger)
  note(table.sort, list(100))
  note(table.sort, list(100), function(a, b) return a > b end)
  note(table.sort, { 1, "x", 2 })
  note(table.sort, {}, 1)
  for _, s in ipairs { "", "a", "ab" } do
    for n = -1, 5 do
      note(string.rep, { s }, n)
      seen[#seen + 1] = s:rep(n) .. "|" .. s:rep(n, ", ") .. "|" .. s:rep(n, "")
    end
  end
  seen[#seen + 1] = ("%5d|%-5s|%q|%g|%%|%c"):format(3, "x", "a\nb", 0.1, 65)
  note(string.format, {}, "%d", "x")
  local function ends(f, ...) return select("#", pcall(f, ...)) end
  seen[#seen + 1] = ends(load, "x = ") .. ends(load, "return 1") .. ends(load, 5)
  local n = 0
  local f = load(function() n = n + 1 return ({ "return ", "40 ", "+ 2" })[n] end)
  seen[#seen + 1] = f()
  -- Under pcall: what handles the errors of the run would add a traceback to stock Lua's.
  local function problem(...) return tostring(select(3, pcall(load, ...))) end
  seen[#seen + 1] = problem(function() error("r", 0) end)
  seen[#seen + 1] = problem(function() return {} end)
  seen[#seen + 1] = problem("x =")
  seen[#seen + 1] = problem("x =", "=name")
  print("done:" .. table.concat(seen, "\n"))
)lua";

constexpr const char* kCalls = R"lua(
  local seen = {}
  local function note(...)
    local t = table.pack(...)
    for i = 1, t.n do t[i] = tostring(t[i]) end
    seen[#seen + 1] = t.n .. ":" .. table.concat(t, ",")
  end
  note(pcall(function(...) return ... end, 1, nil, 3))
  note(pcall(error, "x", 0))
  note(pcall(error))
  note(pcall(pcall))
  note(pcall(pcall, error, "x"))
  note(xpcall(function(...) return select("#", ...), ... end, print, 1, nil))
  note(xpcall(error, function(m) return m .. "!" end, "x", 0))
  note(xpcall(error, function(m) return m, "second" end, "x", 0))
  note(pcall(xpcall, error))
  note(pcall(xpcall, error, 5))
  local co = coroutine.wrap(function(a)
    note(pcall(function(b) note(coroutine.yield(b)) error("after", 0) end, a))
    local function marked(m) return "<" .. m end
    note(xpcall(function() coroutine.yield(2) error("late", 0) end, marked))
    note(xpcall(function() return coroutine.yield(3) end, print))
    return 4
  end)
  note(co(1), co("in"), co(), co("last"))
  note(coroutine.resume(coroutine.create(function() error("in co", 0) end)))
  note(coroutine.close(coroutine.create(print)))
  print("done:" .. table.concat(seen, "\n"))
)lua";

}  // namespace

TEST_CASE("patterns under limits match as Lua's own", "[limits]") { check_same(kPatterns); }
TEST_CASE("table and string functions under limits do what Lua's own do", "[limits]") {
  check_same(kTables);
}
TEST_CASE("protected calls under limits do what Lua's own do", "[limits]") { check_same(kCalls); }
