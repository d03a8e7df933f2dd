// A stock interpreter for the Lua that this build is for: lua_host FILE [WORD...], or -e CODE. Used
// where no program `lua` is that Lua (compiled as C++, or under a sanitizer).
#include <cstdio>
#include <cstring>
#include <lua.hpp>

namespace {

struct Words {
  int count;
  char** list;
};

int with_traceback(lua_State* L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, nullptr), 1);
  return 1;
}

int body(lua_State* L) {
  const Words& words = *static_cast<const Words*>(lua_touserdata(L, 1));
  luaL_openlibs(L);
  const bool is_code = words.count > 2 && std::strcmp(words.list[1], "-e") == 0;
  const int script = is_code ? 3 : 1;
  lua_createtable(L, words.count, 1);
  for (int i = 0; i < words.count; ++i) {
    lua_pushstring(L, words.list[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
  const int loaded = is_code ? luaL_loadstring(L, words.list[2]) : luaL_loadfile(L, words.list[1]);
  if (loaded != LUA_OK) return lua_error(L);
  luaL_checkstack(L, words.count, "too many arguments");
  int given = 0;
  for (int i = script + 1; i < words.count; ++i, ++given) lua_pushstring(L, words.list[i]);
  lua_call(L, given, 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  lua_State* L = luaL_newstate();
  if (!L) return 3;
  Words words{argc, argv};
  lua_pushcfunction(L, with_traceback);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, &words);
  const int status = lua_pcall(L, 1, 0, 1);
  if (status != LUA_OK) std::fprintf(stderr, "lua_host: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return status == LUA_OK ? 0 : 1;
}
