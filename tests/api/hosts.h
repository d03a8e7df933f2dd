// What the tests of the interpreter for hosts share.
#pragma once
#include <catch2/catch.hpp>
#include <string>

#include "api/thrown.h"

namespace rille::test {

/// Fails the test with the script's error, where there is one.
inline void must_run(Interpreter& lua, const std::string& code) {
  const Result<void> result = lua.run_string(code, "test");
  if (!result) FAIL(result.error().report() << "\n" << result.error().traceback);
}

/// The error that the text must end with.
inline Error error_of_run(Interpreter& lua, const std::string& code) {
  const Result<void> result = lua.run_string(code, "test");
  if (result) FAIL("no error was raised");
  return result.error();
}

/// Counts how many copies of it live, and how many ever did.
struct Counted {
  static inline int alive = 0, made = 0;
  Counted() { ++alive, ++made; }
  Counted(const Counted&) { ++alive, ++made; }
  Counted(Counted&&) noexcept { ++alive, ++made; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};

}  // namespace rille::test
