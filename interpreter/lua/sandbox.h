// What scripts see in the sandbox: globals of their own, taken from a list of allowed ones, and
// tables that can't be changed. The standard library keeps the globals it was opened with, so
// nothing that a script does to its own reaches it.
#pragma once
#include <string>
#include <string_view>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Takes from the libraries what the standard library must not reach in the sandbox, either. May
/// raise, as all of these.
void strip_libraries(lua_State* L);

/// From now on chunks get globals of their own: under limits copies of what there is, in the
/// sandbox what is allowed there. Called once the standard library is open.
void separate_globals(Interpreter& in);

/// At the beginning of a run: the sandbox's globals are what they were, whatever the last run did
/// to them; what it added stays. So are, where the run is inside of no other, the settings of the
/// library and the functions that the host bound.
void renew_globals(Interpreter& in);

/// Gives the chunk on top of the stack the globals of the standard library.
void use_library_globals(lua_State* L);

/// Pushes a function that raises E_SANDBOX under that (static) name.
void push_refusal(lua_State* L, const char* name);

/// Raises E_SANDBOX for a chunk that gave a recipe, whose run has a folder.
void refuse_recipe(lua_State* L);

/// Like luaL_tolstring, but without addresses: a table is "table".
const char* push_shown(lua_State* L, int i, size_t* size = nullptr);

}  // namespace rille::lua
