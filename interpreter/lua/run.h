// One run of a chunk, inside a protected call of whoever runs it: the shell (open.h), a host
// (ask.h).
#pragma once
#include <string>
#include <vector>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

struct Run {
  Interpreter* in;
  const std::string* text;   // without what a shell reads
  const std::string* chunk;  // "@fit.lua"
  const std::string* path;   // null for text
  const std::vector<std::string>* arguments;
};

/// Under pcall, with a const Run* as light userdata: loads the chunk, calls it, carries out the
/// recipe it may return, and gives its status then.
int run_body(lua_State* L);

/// The whole file, or the system's reason why not.
const char* read_whole(const std::string& path, std::string& text);

/// A first line that begins with # is for the shell; its line number is kept.
std::string without_shebang(std::string text);

}  // namespace rille::lua
