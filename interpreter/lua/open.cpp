#include "interpreter/lua/open.h"
#include "core/blocks.h"

#include <lua.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/heap.h"
#include "interpreter/lua/libraries.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/printable.h"
#include "interpreter/lua/run.h"
#include "interpreter/lua/sandbox.h"
#include "interpreter/lua/start.h"
#include "ops/autocast.h"

namespace rille::lua {

void remember_interpreter(lua_State* L, Interpreter& in);

namespace {

// ---- running
// -------------------------------------------------------------------------------------

// Message handler: keeps the error and adds where it came from. Error objects carry their own
// place.
int with_traceback(lua_State* L) {
  if (lua_type(L, 1) == LUA_TTABLE) return 1;
  lua_Debug caller;
  if (!lua_getstack(L, 2, &caller)) return 1;  // a syntax error: nothing ran yet
  if (interpreter_of(L).budget && too_deep_to_show(L)) return 1;
  const bool stranger = interpreter_of(L).policy.sandbox;
  if (stranger)
    push_shown(L, 1);
  else
    luaL_tolstring(L, 1, nullptr);
  lua_pushliteral(L, "\n");
  luaL_traceback(L, L, nullptr, 1);
  lua_concat(L, 3);  // luaL_traceback's own message would end at its first zero byte
  return 1;
}

// The error and the status of the call that it ended.
int error_text_body(lua_State* L) {
  const auto status = static_cast<int>(lua_tointeger(L, 2));
  lua_settop(L, 1);
  name_the_limit(L, interpreter_of(L), status);
  if (interpreter_of(L).policy.sandbox)
    push_shown(L, 1);
  else
    luaL_tolstring(L, 1, nullptr);
  return 1;
}

// The raw field `key` of the table on top, pushed; nil where it has none. Raises nothing.
void push_raw(lua_State* L, std::string_view key) {
  for (lua_pushnil(L); lua_next(L, -2); lua_settop(L, -2))
    if (lua_type(L, -2) == LUA_TSTRING && key == lua_tolstring(L, -2, nullptr))
      return lua_replace(L, -2);  // the value takes the key's place
  lua_pushnil(L);
}

// What is reported of the error on top of the stack, through __tostring where it has one; and its
// status.
void read_error(Interpreter& in, int status, Outcome& out) {
  lua_State* L = in.L;
  out.status = status == LUA_ERRMEM && in.budget ? kLimitStatus : 1;
  if (!lua_checkstack(L, 8)) return;
  if (lua_type(L, -1) == LUA_TTABLE) {
    push_raw(L, "status");
    if (lua_type(L, -1) == LUA_TNUMBER)
      out.status = static_cast<int>(lua_tointegerx(L, -1, nullptr));
    lua_settop(L, -2);
    push_raw(L, "kind");
    const bool quiet =
        lua_type(L, -1) == LUA_TSTRING && std::strcmp(lua_tolstring(L, -1, nullptr), "exit") == 0;
    lua_settop(L, -2);
    if (in.policy.sandbox && out.status != kLimitStatus) out.status = 1;  // a stranger's word
    out.exited = quiet && !in.policy.sandbox;
    if (out.exited) return;
  }
  lua_pushcfunction(L, error_text_body);
  lua_pushvalue(L, -2);
  lua_pushinteger(L, status);
  const bool told = lua_pcall(L, 2, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING;
  size_t size = 0;
  const char* text = told ? lua_tolstring(L, -1, &size) : nullptr;
  out.error = text ? reported({text, size}) : "an error whose text could not be had";
  lua_settop(L, -2);
}

// Whether the value on top is what rille.recipe{} returns.
bool is_recipe(lua_State* L) {
  if (!lua_getmetatable(L, -1)) return false;
  lua_pushliteral(L, "__name");
  lua_rawget(L, -2);
  const bool yes =
      lua_type(L, -1) == LUA_TSTRING && std::strcmp(lua_tostring(L, -1), "rille.Recipe") == 0;
  lua_pop(L, 2);
  return yes;
}

void push_words(lua_State* L, const std::vector<std::string>& words) {
  lua_createtable(L, static_cast<int>(words.size()), 1);
  for (size_t i = 0; i < words.size(); ++i) {
    lua_pushlstring(L, words[i].data(), words[i].size());
    lua_rawseti(L, -2, static_cast<lua_Integer>(i) + 1);
  }
}

}  // namespace

int run_body(lua_State* L) {
  const Run& run = *static_cast<const Run*>(lua_touserdata(L, 1));
  lua_settop(L, 0);
  renew_globals(*run.in);
  if (run.path && !run.in->policy.sandbox) search_beside(L, *run.path);
  push_words(L, *run.arguments);
  lua_pushlstring(L, run.chunk->data() + 1, run.chunk->size() - 1);
  lua_rawseti(L, -2, 0);
  lua_setglobal(L, "arg");
  if (run.text->starts_with(LUA_SIGNATURE)) {
    lua_pushfstring(L, "%s: this is bytecode, and only text is run", run.chunk->c_str() + 1);
    return lua_error(L);
  }
  if (load_text_chunk(L, *run.in, *run.text, run.chunk->c_str()) != LUA_OK) return lua_error(L);
  stand_in(L, -1);
  const int n = static_cast<int>(run.arguments->size());
  luaL_checkstack(L, n + 8, "too many arguments");
  for (const std::string& a : *run.arguments) lua_pushlstring(L, a.data(), a.size());
  lua_call(L, n, 1);
  const bool recipe = is_recipe(L);
  if (recipe && run.in->policy.sandbox) refuse_recipe(L);
  lua_pushnil(L);
  stand_in(L, -1);
  lua_settop(L, -2);
  if (!recipe) return 0;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "rille.recipe.run");
  lua_call(L, 1, 1);
  lua_insert(L, -2);
  push_words(L, *run.arguments);
  if (run.path)
    lua_pushlstring(L, run.path->data(), run.path->size());
  else
    lua_pushnil(L);
  lua_call(L, 3, 1);
  return 1;
}

namespace {

Outcome run_protected(const Run& run) {
  lua_State* L = run.in->L;
  Outcome out;
  const LimitedRun limited(*run.in);
  lua_settop(L, 0);
  lua_pushcfunction(L, with_traceback);
  lua_pushcfunction(L, run_body);
  lua_pushlightuserdata(L, const_cast<Run*>(&run));
  const int status = lua_pcall(L, 1, 1, 1);
  if (status != LUA_OK) {
    read_error(*run.in, status, out);
    lua_pushnil(L);
    stand_in(L, -1);
  }
  if (status == LUA_OK && lua_isinteger(L, -1)) out.status = static_cast<int>(lua_tointeger(L, -1));
  if (auto text = limited.ended_early()) out = Outcome{kLimitStatus, *std::move(text), {}};
  lua_settop(L, 0);
  return out;
}

}  // namespace

std::string without_shebang(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.starts_with('#')) text.erase(0, text.find('\n'));
  return text;
}

std::string_view lua_version() { return LUA_RELEASE; }

namespace {

struct Opening {
  Interpreter* in;
  void (*bind)(Interpreter&);
  std::exception_ptr thrown;
};

// Under pcall, since every step may run out of memory.
int open_body(lua_State* L) {
  auto& opening = *static_cast<Opening*>(lua_touserdata(L, 1));
  Interpreter& in = *opening.in;
  lua_settop(L, 0);
  remember_interpreter(L, in);
  make_error_metatable(L);
  open_libraries(in);
  add_raise(L, in);
  lua_gc(L, LUA_GCGEN, 0, 0);
  try {
    opening.bind(in);
  } catch (const std::exception&) {  // not Lua's own errors: those must pass
    opening.thrown = std::current_exception();
    return 0;
  }
  lua_settop(L, 0);
  run_prelude(L);
  if (in.policy.sandbox || in.policy.limited()) separate_globals(in);
  return 0;
}

}  // namespace

void open_state(Interpreter& in, void (*bind)(Interpreter&)) {
  in.gate = std::make_shared<Gate>(in);
  in.gate->enter();
  make_budget(in);
  in.L = new_state(in);
  if (!in.L) throw std::bad_alloc();
  in.running = in.L;
  if (!in.policy.devices.empty()) in.context.default_device = in.policy.devices.front();
  if (in.stress.collect) in.pace.quantum = 0;
  watch(in);
  lua_State* L = in.L;
  Opening opening{&in, bind, nullptr};
  lua_pushcfunction(L, open_body);
  lua_pushlightuserdata(L, &opening);
  const int status = lua_pcall(L, 1, 0, 0);
  if (status == LUA_ERRMEM) throw std::bad_alloc();
  if (opening.thrown) std::rethrow_exception(opening.thrown);
  if (status == LUA_OK) return;
  Outcome out;
  read_error(in, status, out);
  throw Error(Kind::internal, "E_INTERNAL", "the standard library does not load: " + out.error);
}

size_t close_state(Interpreter& in) {
  if (!in.L) return 0;
  in.results.clear();
  in.raised.reset();
  in.raised_value.reset();
  in.gate->close();  // first: what scripts gave away calls into a closing state no more
  lua_State* L = in.L;
  Context* before = Context::enter(&in.context);
  lua_close(L);
  in.L = nullptr;
  in.running = nullptr;
  in.context.saved_hooks.clear();
  free_buried(in);
  const size_t lost = in.owned.release_all();
  memory::forget_blocks(in.context);
  forget_casts();  // of a scope that a coroutine never left
  in.results.clear();
  Context::enter(before);
  in.gate->leave();
  return lost;
}

namespace {

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

}  // namespace

const char* read_whole(const std::string& path, std::string& text) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return std::strerror(errno);
  char piece[16384];
  errno = 0;
  while (const size_t n = std::fread(piece, 1, sizeof piece, file.get())) text.append(piece, n);
  return std::ferror(file.get()) ? std::strerror(errno) : nullptr;
}

Outcome run_file(Interpreter& in, const std::string& path,
                 const std::vector<std::string>& arguments) {
  std::string text;
  if (const char* problem = read_whole(path, text))
    return {1, reported("rille: can't read '" + path + "': " + problem), {}};
  const std::string source = without_shebang(std::move(text));
  if (!in.policy.sandbox) {
    const std::string chunk = "@" + path;
    return run_protected({&in, &source, &chunk, &path, &arguments});
  }
  // Neither the folder nor what other files hold is for a stranger to see.
  const std::string chunk = "@" + path.substr(path.rfind('/') + 1);
  in.sources.keep(chunk, source);
  return run_protected({&in, &source, &chunk, &path, &arguments});
}

Outcome run_text(Interpreter& in, const std::string& text, const std::string& chunk,
                 const std::vector<std::string>& arguments) {
  in.sources.keep(chunk, text);
  const std::string source = without_shebang(text);
  return run_protected({&in, &source, &chunk, nullptr, &arguments});
}

}  // namespace rille::lua
