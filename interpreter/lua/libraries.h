// What scripts get of Lua's own libraries, and how it differs from the stock ones: text chunks
// only, no C modules, no debug but traceback and getinfo, print and os.exit that fit a program that
// must end in order.
#pragma once
#include <string>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Opens them. May raise: under pcall only.
void open_libraries(Interpreter& in);

/// Modules beside the script are found first.
void search_beside(lua_State* L, const std::string& script);

}  // namespace rille::lua
