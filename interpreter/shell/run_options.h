// The words that come before a script: modules, whether the shell follows, the sandbox, its limits.
#pragma once
#include <optional>
#include <string>

#include "interpreter/lua/policy.h"
#include "interpreter/shell/commands.h"

namespace rille::shell {

struct RunOptions {
  lua::Policy policy;
  Words modules;  // chunks that make each one a global
  bool explore = false;
};

/// Takes the leading words that are options off `words`. Where one is wrong: what is wrong, in
/// `problem`, and nothing.
std::optional<RunOptions> take_options(Words& words, std::string& problem);

}  // namespace rille::shell
