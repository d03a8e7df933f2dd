// An error that left a script, as a host sees it: the fields that a pcall in the script would have
// seen, and the traceback, which it would not.
#pragma once
#include <exception>
#include <string>
#include <vector>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

class LuaError;

struct ScriptError : std::exception {
  std::string kind;     // "shape"; empty for what is no error object
  std::string code;     // E_LUA for what is no error object
  std::string op;       // what was called
  std::string message;  // what is wrong
  std::string hint;
  std::string where;      // "fit.lua:3"
  std::string text;       // everything, as tostring shows it
  std::string traceback;  // "stack traceback:\n\t..."
  std::vector<std::string> facts;
  int status = 1;  // what a program should exit with

  const char* what() const noexcept override { return text.c_str(); }
};

/// Message handler: keeps the error as it is, its traceback in `in.traceback`.
int keep_traceback(lua_State* L);

/// The error on top of the stack; `status` is what lua_pcall gave. Runs its __tostring, protected.
ScriptError read_script_error(lua_State* L, Interpreter& in, int status);

/// The one on its way through C++ frames; its interpreter may be closed by now.
ScriptError script_error_of(const LuaError& e);

}  // namespace rille::lua
