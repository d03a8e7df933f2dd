// What a host asks of a state: runs, calls, globals by dotted names. For the thread that is inside;
// also from a host's function that a script called. Errors of the script come out as ScriptError.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/lua/call.h"
#include "interpreter/lua/run.h"
#include "interpreter/lua/script_error.h"

namespace rille::lua {

/// Gives the status of the recipe that the chunk returned, else 0.
int ask_run(Interpreter& in, const Run& run);

/// Calls the function that a global names, or that C++ holds; all its results.
std::vector<Value> ask_call(Interpreter& in, std::string_view name, const std::vector<Value>& args);
std::vector<Value> ask_call(Interpreter& in, const Callback& f, const std::vector<Value>& args);

/// "game.score": the value there, nil where a part is missing. Throws E_TYPE for what C++ has no
/// form of (coroutines, objects).
Value ask_get(Interpreter& in, std::string_view name);

/// The same place is given a value; tables on the way are made. Throws E_TYPE where a part on the
/// way is no table, ScriptError where a table on the way may not be written.
void ask_set(Interpreter& in, std::string_view name, const Value& value);

}  // namespace rille::lua
