#include "stock/host.h"

#include <cstdlib>

namespace rille::test {

lua_Number pretended_version = 0;

namespace {

void* allocate(void* heap_of, void* block, size_t old_size, size_t size) {
  Heap& heap = *static_cast<Heap*>(heap_of);
  if (!block) old_size = 0;
  if (size == 0) {
    heap.bytes -= old_size;
    std::free(block);
    return nullptr;
  }
  // Lua answers a failure with a collection and a second try: that fails, too.
  if (size > old_size && heap.until_fail > 0 && --heap.until_fail <= 1) {
    heap.failed = true;
    if (heap.until_fail == 1) return nullptr;
    heap.until_fail = 0;
    return nullptr;
  }
  void* moved = std::realloc(block, size);
  if (moved) heap.bytes += size - old_size;
  return moved;
}

int open_body(lua_State* L) {
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushliteral(L, RILLE_MODULE_DIR "/?.so");
  lua_setfield(L, -2, "cpath");
  return 0;
}

}  // namespace

Host::Host() {
  L = lua_newstate(allocate, &heap);
  if (!L) throw std::bad_alloc();
  lua_pushcfunction(L, open_body);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) throw std::bad_alloc();
}

std::string Host::run(const std::string& code) {
  lua_settop(L, 0);
  int status = luaL_loadbufferx(L, code.data(), code.size(), "=test", "t");
  if (status == LUA_OK) status = lua_pcall(L, 0, 1, 0);
  const char* text = status == LUA_ERRMEM ? "not enough memory" : luaL_tolstring(L, -1, nullptr);
  std::string said = text ? text : "";
  lua_settop(L, 0);
  if (status != LUA_OK) throw std::runtime_error(said);
  return said;
}

void Host::close() {
  if (!L) return;
  heap.until_fail = 0;
  lua_close(L);
  L = nullptr;
}

}  // namespace rille::test

// The program's own symbol comes before the library's, so the module calls this one.
extern "C" __attribute__((visibility("default"))) lua_Number lua_version(lua_State*) {
  const lua_Number pretended = rille::test::pretended_version;
  return pretended != 0 ? pretended : LUA_VERSION_NUM;
}
