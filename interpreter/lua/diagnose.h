// Turns a C++ error into a message that a script writer can act on: the script's line, the names it
// gives its values, the source with a caret, one hint. Runs on the failure path only; calls nothing
// of Lua that raises.
#pragma once
#include "interpreter/lua/interpreter.h"
#include "ops/op_info.h"

struct lua_Debug;

namespace rille::lua {

/// Whether a function is the standard library's, by its source.
bool is_library(const lua_Debug& ar);

/// The innermost line of the user's: not the standard library's. Nowhere, for want of memory too.
Site user_site(lua_State* L) noexcept;
/// Of what runs now; in a block's second run without a line of the script's, that of its backward.
Site script_site(const Interpreter& in) noexcept;

/// Fills in `in.raised`. `args` are the stack indices of the op's fields (0: not given), or null.
void diagnose(lua_State* L, Interpreter& in, Error error, const OpInfo* op, const int* args);

/// The function at stack index i (nil: none) stands for the script in errors that find no frame of
/// it: a tail call into the standard library leaves none.
void stand_in(lua_State* L, int i);
/// native.stand_in(f)
int stand_in_from_script(lua_State* L);

/// native.raise{ kind, code, op, message, hint, facts, status }: how the standard library raises.
int raise_from_table(lua_State* L);

/// Pushes what was prepared, as an error object. May raise for want of memory.
void push_prepared(lua_State* L, Interpreter& in);

/// Raises what was prepared, as an error object, and drops results given since `first`. Does not
/// return.
int raise_prepared(lua_State* L, Interpreter& in, size_t first);

/// The name nearest to `wrong`, or nothing where none is near.
std::string nearest(std::string_view wrong, const std::vector<std::string_view>& names);

/// "string 'x'", "number 3.5", "f32[2, 3]", as errors name a value.
std::string describe_value(lua_State* L, int i, const Interpreter& in);

/// Of a closed value: "was closed at f.lua:3", "was freed by the scope that ended at f.lua:3", or
/// where nobody knows "is closed".
std::string describe_closing(lua_State* L, int i, const Interpreter& in);

/// Makes the metatable of error objects.
void make_error_metatable(lua_State* L);

}  // namespace rille::lua
