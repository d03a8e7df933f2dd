// What scripts get of Lua's own libraries, and how it differs from the stock ones: text chunks
// only, no C modules, no debug but traceback and getinfo, print and os.exit that fit a program that
// must end in order.
#pragma once
#include <string>
#include <string_view>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Opens them. May raise: under pcall only.
void open_libraries(Interpreter& in);

/// Whether the standard library has a module of that name.
bool is_embedded(std::string_view name);

/// setmetatable as scripts get it under limits and in the sandbox: without __gc, which runs where
/// no hook can stop it. And whether a metatable was set by it.
int set_scripts_metatable(lua_State* L);
bool is_scripts_metatable(lua_State* L, int i);

/// In a state whose libraries a host opened: the modules of the standard library, as
/// package.preload has them. May raise.
void preload_embedded(lua_State* L);
/// The same state's libraries become those that open_libraries gives, but for what is the program's
/// own: print and os.exit. May raise.
void replace_libraries(lua_State* L, Interpreter& in);

/// Modules beside the script are found first.
void search_beside(lua_State* L, const std::string& script);

}  // namespace rille::lua
