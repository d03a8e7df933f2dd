// Runs something that must fail and gives back the typed error.
#pragma once
#include <catch2/catch.hpp>
#include <string>

#include "core/error.h"

namespace rille::test {

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  FAIL("no error was raised");
  return Error(Kind::internal, "", "");
}

/// The error's code; "" where there was none.
template <class F>
std::string code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return "";
}

inline bool mentions(const Error& e, const std::string& text) {
  if (std::string(e.what()).find(text) != std::string::npos) return true;
  for (const std::string& fact : e.facts())
    if (fact.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace rille::test
