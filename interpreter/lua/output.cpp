#include "interpreter/lua/output.h"

#include <cerrno>
#include <lua.hpp>
#include <new>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

OutputStream::OutputStream(Sink sink) : state_(std::make_unique<State>()) {
  state_->sink = std::move(sink);
  file_ = fopencookie(state_.get(), "w", {nullptr, write, nullptr, nullptr});
  if (!file_) throw std::bad_alloc();
  std::setvbuf(file_, nullptr, _IOLBF, BUFSIZ);
}

OutputStream::~OutputStream() { std::fclose(file_); }

// Called by the C library in the middle of a write of Lua's: nothing may be thrown through it, and
// a sink that writes to its own stream is refused.
ssize_t OutputStream::write(void* state, const char* text, size_t size) noexcept {
  auto& s = *static_cast<State*>(state);
  const std::thread::id me = std::this_thread::get_id();
  if (s.writer == me) {
    errno = EDEADLK;
    return 0;
  }
  s.writer = me;  // the stream's lock keeps others out
  bool taken = true;
  try {
    s.sink({text, size});
  } catch (...) {  // whatever a host throws; no error of Lua's comes this way
    taken = false;
  }
  s.writer = std::thread::id();
  if (!taken) errno = EIO;
  return taken ? static_cast<ssize_t>(size) : 0;
}

namespace {

int keep_open(lua_State* L) {
  static_cast<luaL_Stream*>(lua_touserdata(L, 1))->closef = keep_open;
  luaL_pushfail(L);
  lua_pushliteral(L, "a standard stream stays open");
  return 2;
}

// `io` is on top of the stack.
void set_stream(lua_State* L, const char* name, std::FILE* file) {
  auto* stream = static_cast<luaL_Stream*>(lua_newuserdatauv(L, sizeof(luaL_Stream), 0));
  stream->closef = keep_open;
  stream->f = file;
  luaL_setmetatable(L, LUA_FILEHANDLE);
  lua_setfield(L, -2, name);
}

}  // namespace

void redirect_io(Interpreter& in) {
  if (in.out == stdout && in.log == stderr) return;
  lua_State* L = in.L;
  if (lua_getglobal(L, LUA_IOLIBNAME) != LUA_TTABLE) return lua_pop(L, 1);
  if (in.log != stderr) set_stream(L, "stderr", in.log);
  if (in.out != stdout) {
    set_stream(L, "stdout", in.out);
    lua_getfield(L, -1, "output");
    lua_getfield(L, -2, "stdout");
    lua_call(L, 1, 0);
  }
  lua_pop(L, 1);
}

}  // namespace rille::lua
