// Opening and closing a Lua state, running chunks in it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// A state with the libraries scripts may use, what `bind` defines, and the standard library.
/// Throws std::bad_alloc, E_INTERNAL. The interpreter must stay where it is.
void open_state(Interpreter& in, void (*bind)(Interpreter&));
/// Closes it, also one that did not open whole. Gives how many boxes Lua never finalized.
size_t close_state(Interpreter& in);

/// "Lua 5.4.4"
std::string_view lua_version();

/// How a chunk ended.
struct Outcome {
  int status = 0;             // what the program should exit with
  std::string error;          // text with traceback; empty where there was none
  std::vector<Value> values;  // only where asked for
  bool exited = false;        // by os.exit, so nothing is to follow
};

/// Runs a file, or text under a chunk name such as "=(command line)". `arguments` become `arg` and
/// `...`. If the chunk returns a recipe, it is carried out.
Outcome run_file(Interpreter& in, const std::string& path,
                 const std::vector<std::string>& arguments);
Outcome run_text(Interpreter& in, const std::string& text, const std::string& chunk,
                 const std::vector<std::string>& arguments);

}  // namespace rille::lua
