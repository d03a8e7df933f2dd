// Nested lists of numbers, between scripts and tensors: read and made without a tree of values in
// the middle, so that lists of millions can be stopped, and dropped at once.
#pragma once
#include <cstdint>
#include <deque>
#include <variant>

#include "core/budget.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// What a nested list holds, row by row.
struct Numbers {
  using Number = std::variant<bool, int64_t, double>;
  Shape shape;
  std::deque<Number> values;  // grows without copying
  bool floats = false, integers = false, booleans = false;
  Charge charge;  // for the values
};

/// The nested list, number or boolean at index i. Inside `guarded`: throws for anything else in it.
Numbers read_numbers(lua_State* L, const Interpreter& in, int i);

/// Pushes the values of a contiguous tensor as nested lists, which counts as instructions. May
/// raise.
void push_lists(lua_State* L, Interpreter& in, const Tensor& t);
/// What these take of the heap, about.
int64_t bytes_of_lists(const Shape& shape);

}  // namespace rille::lua
