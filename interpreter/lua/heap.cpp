#include "interpreter/lua/heap.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lua.hpp>

namespace rille::lua {
namespace {

// Lua answers a failed allocation with a collection and a second try, so it takes two in a row
// before a script gets an error.
bool fails(Stress& s) {
  if (s.fail_at == 0) return false;
  ++s.allocations;
  const int64_t past = s.allocations - s.fail_at;
  if (past < 0) return false;
  const int64_t place = s.repeat ? past % s.fail_at : past;
  if (s.fail_count != 0 && place >= s.fail_count) return false;
  ++s.failures;
  return true;
}

void* allocate(void* stress, void* block, size_t old_size, size_t size) {
  if (size == 0) {
    std::free(block);
    return nullptr;
  }
  const bool grows = !block || size > old_size;  // Lua relies on blocks that shrink
  if (grows && fails(*static_cast<Stress*>(stress))) return nullptr;
  return std::realloc(block, size);
}

// Lua warns of errors in finalizers, in pieces; it says of an error object only that it is none of
// its strings.
void warn(void* interpreter, const char* piece, int more) {
  Interpreter& in = *static_cast<Interpreter*>(interpreter);
  if (!in.warned) {
    if (!more && piece[0] == '@') return;  // a control message
    std::fputs("rille: warning: ", stderr);
  }
  const bool object = std::strcmp(piece, "error object is not a string") == 0;
  std::fputs(object && !in.last_error.empty() ? in.last_error.c_str() : piece, stderr);
  if (!more) std::fputc('\n', stderr);
  in.warned = more != 0;
}

int panic(lua_State* L) {
  const char* text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error object";
  std::fprintf(stderr, "rille: an error outside of any protected call: %s\n", text);
  return 0;
}

}  // namespace

lua_State* new_state(Interpreter& in) {
  lua_State* L = lua_newstate(allocate, &in.stress);
  if (!L) return nullptr;
  lua_atpanic(L, panic);
  lua_setwarnf(L, warn, &in);
  return L;
}

}  // namespace rille::lua
