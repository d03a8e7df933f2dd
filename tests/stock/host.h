// A host of its own for rille.so: Lua states with an allocator that counts, and fails when it is
// told to. Nothing of Rille is linked to it.
#pragma once
#include <lua.hpp>
#include <stdexcept>
#include <string>

namespace rille::test {

struct Heap {
  size_t bytes = 0;     // that Lua holds
  long until_fail = 0;  // allocations to the one that fails; 0: none does
  bool failed = false;
};

class Host {
 public:
  /// Opens a state with the stock libraries, which finds the module.
  Host();
  ~Host() { close(); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Runs the code: the first result as text. Throws std::runtime_error with the error's text.
  std::string run(const std::string& code);
  /// Does what lua_close does, once.
  void close();

  lua_State* L = nullptr;
  Heap heap;
};

/// What lua_version says in this process; 0: the truth. A host of another version, pretended.
extern lua_Number pretended_version;

}  // namespace rille::test
