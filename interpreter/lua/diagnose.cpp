#include "interpreter/lua/diagnose.h"

#include <lua.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <sstream>
#include <unordered_set>

#include "interpreter/lua/box.h"
#include "interpreter/lua/call.h"
#include "interpreter/lua/printable.h"

namespace rille::lua {

bool is_library(const lua_Debug& ar) {
  return std::string_view(ar.source).substr(0, 7) == "@rille:";
}

namespace {

const char kErrorKey = 0;  // its address is the registry key of the error metatable
const char kStandIn = 0;   // of the function that stands for a script without a frame

// The frame of the user's own code that is nearest to the failure.
bool user_frame(lua_State* L, lua_Debug& ar) {
  for (int level = 0; lua_getstack(L, level, &ar); ++level) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline > 0 && !is_library(ar)) return true;
  }
  return false;
}

// In a block's second run, of a function that is the library's: where the script went backward.
bool backward_frame(lua_State* L, const Interpreter& in, lua_Debug& ar) {
  return L == in.second_run && in.second_run_of && user_frame(in.second_run_of, ar);
}

// Where the function begins that stands for the script.
bool stand_in_frame(lua_State* L, lua_Debug& ar) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kStandIn) != LUA_TFUNCTION) {
    lua_settop(L, -2);
    return false;
  }
  lua_getinfo(L, ">S", &ar);
  ar.currentline = ar.linedefined;
  return *ar.what != 'C' && !is_library(ar);
}

// Sources live as long as the process: sites keep pointers to them.
const char* interned(const char* source) {
  static std::mutex mutex;
  static auto* names = new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return names->emplace(source).first->c_str();
}

const char* shown_source(const lua_Debug& ar) {
  return ar.source[0] == '@' || ar.source[0] == '=' ? ar.source + 1 : ar.short_src;
}

// "fit.lua:3", or the file alone: a whole file begins at no line.
std::string place_text(const lua_Debug& ar) {
  const char* source = shown_source(ar);
  return ar.currentline > 0 ? fmt::format("{}:{}", source, ar.currentline) : source;
}

// What the script calls the value at stack index i: a local or an upvalue of that frame.
std::string script_name(lua_State* L, lua_Debug& ar, int i) {
  std::string found;
  for (int n = 1; const char* name = lua_getlocal(L, &ar, n); ++n) {
    if (name[0] != '(' && lua_rawequal(L, -1, i)) found = name;  // the last match is the innermost
    lua_pop(L, 1);
  }
  if (!found.empty() || !lua_getinfo(L, "f", &ar)) return found;
  for (int n = 1; const char* name = lua_getupvalue(L, -1, n); ++n) {
    if (found.empty() && lua_rawequal(L, -1, i)) found = name;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return found;
}

std::string source_line(const Interpreter& in, const lua_Debug& ar) {
  std::string text;
  const auto scan = [&](std::istream& stream) {
    for (int n = 0; n < ar.currentline && std::getline(stream, text); ++n) {
    }
    if (!stream) text.clear();
  };
  // A script may name its chunks as it likes: in the sandbox that opens no file.
  if (const std::string* kept = in.sources.find(ar.source)) {
    std::istringstream stream(*kept);
    scan(stream);
  } else if (ar.source[0] == '@' && !in.policy.sandbox) {
    std::ifstream file(ar.source + 1);
    scan(file);
  }
  return text;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The op's name in the line, as a word.
size_t find_word(const std::string& line, std::string_view word) {
  for (size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(line[at - 1])) &&
        (end == line.size() || !is_word(line[end]) || line[end] == '_'))
      return at;
  }
  return line.npos;
}

// Operators have no name in the source; the caret goes under their sign.
std::string_view sign_of(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> signs[] = {
      {"add", "+"},       {"sub", "-"}, {"mul", "*"}, {"div", "/"}, {"floor_divide", "//"},
      {"remainder", "%"}, {"pow", "^"}, {"neg", "-"}, {"cat", ".."}};
  for (const auto& [name, sign] : signs)
    if (op == name) return sign;
  return {};
}

struct Span {
  size_t at = std::string::npos, length = 0;
};

// Past the bracket that closes the one at `open`; past that one alone where the line ends first.
size_t closed(const std::string& line, size_t open) {
  int depth = 0;
  for (size_t i = open; i < line.size(); ++i) {
    depth += line[i] == '[' ? 1 : line[i] == ']' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return open + 1;
}

// What indexes `variable` in the line: [2], [{1, 3}]. For a tensor without a name the last of the
// first chain, since only a table of tensors is indexed twice: rows[1][{2, 3}].
Span brackets(const std::string& line, const std::string& variable) {
  const auto opens = [&](size_t i) {
    if (line[i] != '[' || i == 0 || i < variable.size()) return false;
    const char before = line[i - 1];
    if (variable.empty()) return is_word(before) || before == ')' || before == ']';
    const size_t begin = i - variable.size();
    return line.compare(begin, variable.size(), variable) == 0 &&
           (begin == 0 || !is_word(line[begin - 1]));
  };
  for (size_t i = 0; i < line.size(); ++i) {
    if (!opens(i)) continue;
    size_t end = closed(line, i);
    for (; variable.empty() && end < line.size() && line[end] == '['; end = closed(line, i))
      i = end;
    return {i, end - i};
  }
  return {};
}

std::string caret(const std::string& line, size_t lead, std::string_view op,
                  const std::string& indexed) {
  size_t at = op.empty() ? line.npos : find_word(line, op), length = op.size();
  if (at == line.npos && !sign_of(op).empty()) {
    const std::string_view sign = sign_of(op);
    at = line.find(fmt::format(" {} ", sign));
    if (at != line.npos) ++at, length = sign.size();
  }
  const bool called = at != line.npos && line.compare(at + length, 1, "(") == 0;
  if ((op == "index" || op == "index_put") && !called) {
    const Span span = brackets(line, indexed);
    at = span.at, length = span.length;
  }
  if (at == line.npos || at < lead) return {};
  return fmt::format("\n     | {:>{}}{:~<{}}", "", at - lead, "^", length);
}

std::string argument_lines(lua_State* L, const Interpreter& in, lua_Debug& ar, bool framed,
                           const Error& e, const OpInfo& op, const int* args) {
  std::string out;
  int shown = 0;
  for (size_t f = 0; f < op.fields.size(); ++f) {
    const FieldInfo& field = op.fields[f];
    if (field.kind == ArgKind::draw) continue;
    ++shown;
    if (!args[f]) continue;
    const auto& about = e.about();
    if (!about.empty() && std::find(about.begin(), about.end(), field.name) == about.end())
      continue;
    TensorImpl* p = peek_tensor(L, args[f], in);
    if (!p) continue;
    const std::string name = framed ? script_name(L, ar, args[f]) : std::string();
    out += fmt::format("\n     #{} {:<10}{}", shown, name, describe(tensor_of(p)));
  }
  return out;
}

// `indexed`: the variable in front of the brackets, where the script's line has no name of the op.
std::string source_lines(const Interpreter& in, const lua_Debug& ar, std::string_view op,
                         const std::string& indexed) {
  const std::string line = source_line(in, ar);
  const size_t lead = line.find_first_not_of(" \t");
  if (lead == line.npos) return {};
  return fmt::format("\n{:>4} | {}", ar.currentline, line.substr(lead)) +
         caret(line, lead, op, indexed);
}

// Names out of files and values of the script's are in its texts.
Error printable_error(const Error& e) {
  Error out(e.kind(), printable(e.code()), printable(e.text()));
  out.op(printable(e.op())).hint(printable(e.hint()));
  for (const std::string& fact : e.facts()) out.fact(printable(fact));
  for (const std::string& argument : e.about()) out.of(argument);
  return out;
}

void set_string(lua_State* L, const char* key, const std::string& value) {
  lua_pushlstring(L, value.data(), value.size());
  lua_setfield(L, -2, key);
}

}  // namespace

Site user_site(lua_State* L) noexcept try {
  lua_Debug ar;
  if (!user_frame(L, ar)) return {};
  // Scripts call ops from the same source many times in a row.
  thread_local std::string last;
  thread_local const char* last_interned = nullptr;
  const char* source = shown_source(ar);
  if (!last_interned || last != source) {
    last_interned = nullptr;
    last = source;
    last_interned = interned(source);
  }
  return {last_interned, ar.currentline};
} catch (const std::bad_alloc&) {
  return {};
}

Site script_site(const Interpreter& in) noexcept {
  const Site here = user_site(in.running);
  const bool second = in.running == in.second_run && in.second_run_of;
  return here.source || !second ? here : user_site(in.second_run_of);
}

void diagnose(lua_State* L, Interpreter& in, Error error, const OpInfo* op, const int* args) {
  lua_checkstack(L, 8);
  const int top = lua_gettop(L);
  lua_Debug ar;
  const bool framed = user_frame(L, ar);
  const std::string kind(name(error.kind()));
  const bool limit = error.code() == "E_BUDGET" || error.code() == "E_OOM_BUDGET";
  Raised r{printable_error(error), {}, {}, kind, limit ? kLimitStatus : 1};
  const bool placed = framed || backward_frame(L, in, ar) || stand_in_frame(L, ar);
  if (placed) r.where = printable(place_text(ar));
  r.text = placed ? fmt::format("{}: {}", r.where, r.error.what()) : std::string(r.error.what());
  for (const std::string& fact : r.error.facts()) r.text += "\n     " + fact;
  if (op && args) r.text += argument_lines(L, in, ar, framed, r.error, *op, args);
  const bool indexes = framed && args && op && op->name == "index" && args[0];
  const std::string indexed = indexes ? script_name(L, ar, args[0]) : std::string();
  if (placed && ar.currentline > 0)
    r.text += printable(source_lines(in, ar, r.error.op(), indexed));
  if (!r.error.hint().empty()) r.text += "\n     hint: " + r.error.hint();
  if (r.error.kind() == Kind::internal)
    r.text += "\n     this is a fault of Rille: please report it";
  in.raised.emplace(std::move(r));
  lua_settop(L, top);
}

void stand_in(lua_State* L, int i) {
  lua_pushvalue(L, i);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kStandIn);
}

int stand_in_from_script(lua_State* L) {
  lua_settop(L, 1);
  stand_in(L, 1);
  return 0;
}

int raise_prepared(lua_State* L, Interpreter& in, size_t first) {
  in.results.resize(first);
  push_prepared(L, in);
  return lua_error(L);
}

void push_prepared(lua_State* L, Interpreter& in) {
  if (in.raised_value) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, in.raised_value->reference());
    in.raised_value.reset();
    return;
  }
  const Raised& r = *in.raised;
  lua_createtable(L, 0, 8);
  set_string(L, "kind", r.kind);
  set_string(L, "code", r.error.code());
  if (!r.error.op().empty()) set_string(L, "op", r.error.op());
  set_string(L, "message", r.error.text());
  if (!r.error.hint().empty()) set_string(L, "hint", r.error.hint());
  if (!r.where.empty()) set_string(L, "where", r.where);
  set_string(L, "text", r.text);
  lua_pushinteger(L, r.status);
  lua_setfield(L, -2, "status");
  lua_createtable(L, static_cast<int>(r.error.facts().size()), 0);
  for (size_t i = 0; i < r.error.facts().size(); ++i) {
    lua_pushlstring(L, r.error.facts()[i].data(), r.error.facts()[i].size());
    lua_rawseti(L, -2, static_cast<lua_Integer>(i) + 1);
  }
  lua_setfield(L, -2, "facts");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kErrorKey);
  lua_setmetatable(L, -2);
  in.last_error.swap(in.raised->text);
  in.raised.reset();
}

namespace {

std::string string_field(lua_State* L, const char* key) {
  std::string out;
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING &&
        std::string_view(lua_tolstring(L, -2, nullptr)) == key)
      out = lua_tolstring(L, -1, nullptr);
    lua_settop(L, -2);
  }
  return out;
}

Kind kind_named(const std::string& text) {
  for (int k = 0; k <= static_cast<int>(Kind::internal); ++k)
    if (name(static_cast<Kind>(k)) == text) return static_cast<Kind>(k);
  return Kind::argument;
}

void prepare_from_table(lua_State* L, Interpreter& in) noexcept {
  try {
    const std::string kind = string_field(L, "kind");
    Error e(kind_named(kind), string_field(L, "code"), string_field(L, "message"));
    e.op(string_field(L, "op"));
    if (std::string hint = string_field(L, "hint"); !hint.empty())
      (void)std::move(e).hint(std::move(hint));
    int status = kind == "usage" ? 2 : 1;
    for (lua_pushnil(L); lua_next(L, 1); lua_settop(L, -2)) {
      if (lua_type(L, -2) != LUA_TSTRING) continue;
      const std::string_view key = lua_tolstring(L, -2, nullptr);
      if (key == "status" && lua_type(L, -1) == LUA_TNUMBER)
        status = static_cast<int>(lua_tointegerx(L, -1, nullptr));
      if (key != "facts" || lua_type(L, -1) != LUA_TTABLE) continue;
      const lua_Unsigned n = lua_rawlen(L, -1);
      for (lua_Unsigned i = 1; i <= n; ++i) {
        lua_rawgeti(L, -1, static_cast<lua_Integer>(i));
        if (lua_type(L, -1) == LUA_TSTRING) (void)std::move(e).fact(lua_tolstring(L, -1, nullptr));
        lua_settop(L, -2);
      }
    }
    diagnose(L, in, std::move(e), nullptr, nullptr);
    in.raised->kind = kind;
    in.raised->status = status;
    // A wrong command line or a quiet end has no place in the script.
    if (kind == "usage" || kind == "exit") in.raised->text = in.raised->error.what();
  } catch (const std::exception&) {  // no Lua call above raises: this is want of memory
    in.raised.emplace(Raised{Error(Kind::memory, "E_OOM", ""), {}, "out of memory", "memory", 1});
  }
}

}  // namespace

int raise_from_table(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(1)));
  follow_coroutine(L, in);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_checkstack(L, 16, "rille");
  prepare_from_table(L, in);
  return raise_prepared(L, in, in.results.size());
}

void make_error_metatable(lua_State* L) {
  lua_newtable(L);
  lua_pushliteral(L, "rille.Error");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, [](lua_State* S) {
    if (lua_type(S, 1) != LUA_TTABLE) return luaL_argerror(S, 1, "an error object expected");
    lua_getfield(S, 1, "text");
    return 1;
  });
  lua_setfield(L, -2, "__tostring");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kErrorKey);
}

std::string nearest(std::string_view wrong, const std::vector<std::string_view>& names) {
  // Edit distance with swaps of neighbours; every third letter may differ.
  std::string_view best;
  size_t least = std::max<size_t>(2, wrong.size() / 3 + 1);
  for (const std::string_view name : names) {
    std::vector<std::vector<size_t>> d(wrong.size() + 1, std::vector<size_t>(name.size() + 1));
    for (size_t i = 0; i <= wrong.size(); ++i) d[i][0] = i;
    for (size_t j = 0; j <= name.size(); ++j) d[0][j] = j;
    for (size_t i = 1; i <= wrong.size(); ++i)
      for (size_t j = 1; j <= name.size(); ++j) {
        d[i][j] = std::min(
            {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (wrong[i - 1] != name[j - 1])});
        if (i > 1 && j > 1 && wrong[i - 1] == name[j - 2] && wrong[i - 2] == name[j - 1])
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    if (d[wrong.size()][name.size()] < least) {
      least = d[wrong.size()][name.size()];
      best = name;
    }
  }
  return std::string(best);
}

std::string describe_closing(lua_State* L, int i, const Interpreter& in) {
  const Owned::Closing closing = closing_of(L, i, in);
  if (!closing.at.source) return "is closed";
  return fmt::format("was {} at {}:{}",
                     closing.by_scope ? "freed by the scope that ended" : "closed",
                     closing.at.source, closing.at.line);
}

std::string describe_value(lua_State* L, int i, const Interpreter& in) {
  if (TensorImpl* p = peek_tensor(L, i, in)) {
    const Tensor t = tensor_of(p);
    return fmt::format("{}{}", name(t.dtype()), to_string(t.shape()));
  }
  if (is_closed_box(L, i, in)) {
    const std::string_view what = is_tensor_box(L, i, in) ? "tensor" : "object";
    if (!closing_of(L, i, in).at.source) return fmt::format("a closed {}", what);
    return fmt::format("{} {} that {}", what == "object" ? "an" : "a", what,
                       describe_closing(L, i, in));
  }
  switch (lua_type(L, i)) {
    case LUA_TNONE:
    case LUA_TNIL: return "nil";
    case LUA_TBOOLEAN: return lua_toboolean(L, i) ? "true" : "false";
    case LUA_TSTRING: {
      size_t n = 0;
      const char* s = lua_tolstring(L, i, &n);
      return fmt::format("string '{}{}'", std::string_view(s, std::min<size_t>(n, 40)),
                         n > 40 ? "..." : "");
    }
    case LUA_TNUMBER:
      return lua_isinteger(L, i) ? fmt::format("{}", lua_tointegerx(L, i, nullptr))
                                 : fmt::format("{:g}", lua_tonumberx(L, i, nullptr));
    case LUA_TUSERDATA: return peek_object(L, i, in) ? "an object of Rille's" : "a userdata";
    default: return fmt::format("a {}", lua_typename(L, lua_type(L, i)));
  }
}

}  // namespace rille::lua
