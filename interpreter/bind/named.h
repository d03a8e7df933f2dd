// Errors of what a function of scripts does under another name of its own.
#pragma once
#include <string_view>

#include "core/error.h"

namespace rille::bind {

/// Errors of f() are those of the function `op`, unless an op on the way named itself.
template <class F>
void named(std::string_view op, F&& f) {
  try {
    f();
  } catch (Error& e) {
    if (e.op().empty()) e.op(op);
    throw;
  }
}

}  // namespace rille::bind
