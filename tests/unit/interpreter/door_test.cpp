#include <catch2/catch.hpp>

#include "core/allocator.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/open.h"
#include "interpreter/lua/owned.h"

using rille::lua::BoxKind;
using rille::lua::Interpreter;
using rille::lua::Owned;

namespace {

// Lua calls finalizers in protected mode, and near its limit of C levels that call itself fails.
constexpr const char* kLosesFinalizers = R"(
  local rille = require "rille"
  kept = { rille.ones(1000), rille.ones(1000, { requires_grad = true }) }
  kept[2]:register_hook(function() return kept end)
  local function deep(n)
    return (("x"):gsub("x", function()
      if n == 0 or not pcall(deep, n - 1) then
        for _ = 1, 100 do rille.ones(100) end
        collectgarbage()
      end
    end))
  end
  pcall(deep, 190))";

int64_t bytes_after(bool starve) {
  Interpreter in;
  open_state(in, rille::bind::bind_all);
  const auto out = run_text(in, kLosesFinalizers, "=test", {});
  INFO(out.error);
  CHECK(out.status == 0);
  if (starve) {
    in.stress.fail_at = 1;
    in.stress.fail_count = 0;
  }
  close_state(in);
  CHECK(in.owned.live() == 0);
  return rille::memory::stats().allocated;
}

}  // namespace

TEST_CASE("closing an interpreter frees what Lua never finalized", "[door]") {
  const int64_t before = bytes_after(false);
  CHECK(bytes_after(false) == before);
  CHECK(bytes_after(true) == before);
}

TEST_CASE("interpreters side by side share nothing", "[door]") {
  Interpreter first, second;
  open_state(first, rille::bind::bind_all);
  open_state(second, rille::bind::bind_all);
  CHECK(run_text(first, "x = require 'rille'.ones(3) require 'rille'.seed(7)", "=a", {}).status ==
        0);
  CHECK(run_text(second, "assert(x == nil) assert(require 'rille.native'.initial_seed() == 0)",
                 "=b", {})
            .status == 0);
  close_state(first);
  CHECK(run_text(second, "assert(require 'rille'.ones(3):sum():item() == 3)", "=b", {}).status ==
        0);
  close_state(second);
}

TEST_CASE("an interpreter that ran out of memory while opening closes", "[door]") {
  for (const int64_t at : {1, 2, 10, 100, 1000}) {
    Interpreter in;
    in.stress.fail_at = at;
    in.stress.fail_count = 0;
    CHECK_THROWS_AS(open_state(in, rille::bind::bind_all), std::bad_alloc);
    close_state(in);
    CHECK(in.owned.live() == 0);
  }
}

TEST_CASE("slots are used again, and say when they are empty", "[door]") {
  Owned owned;
  const char first = 0, second = 0, third = 0;  // stand for boxes: only addresses count
  const uint32_t a = owned.take(&first), b = owned.take(&second);
  CHECK(a != b);
  CHECK(owned.held_by(&first, a, BoxKind::tensor) == nullptr);  // nothing in it yet
  char held = 0;
  owned.put(b, BoxKind::tensor, &held);
  CHECK(owned.held_by(&second, b, BoxKind::tensor) == &held);
  CHECK(owned.held_by(&first, b, BoxKind::tensor) == nullptr);
  CHECK(owned.held_by(&second, b, BoxKind::object) == nullptr);
  CHECK(owned.held_by(&second, a, BoxKind::tensor) == nullptr);
  CHECK(owned.held_by(&second, 2, BoxKind::tensor) == nullptr);
  CHECK(owned.held_by(&second, Owned::kNone, BoxKind::tensor) == nullptr);
  owned.put(b, BoxKind::tensor, nullptr);
  CHECK(owned.held(a) == nullptr);
  CHECK(owned.held(Owned::kNone) == nullptr);
  owned.drop(a);
  CHECK(owned.take(&third) == a);
  CHECK(owned.held_by(&first, a, BoxKind::tensor) == nullptr);
  CHECK(owned.live() == 0);
  CHECK(owned.release_all() == 0);
}
