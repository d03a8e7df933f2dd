// The words that come before a script: modules, chunks, whether the shell follows, the sandbox, its
// limits.
#pragma once
#include <optional>
#include <string>

#include "interpreter/lua/policy.h"
#include "interpreter/shell/commands.h"

namespace rille::shell {

struct RunOptions {
  lua::Policy policy;
  Words chunks;          // of -l and -e, in order; the former make a module a global
  bool modules = false;  // -l is among them
  bool code = false;     // -e is: the words are for these chunks, and there is no script
  bool explore = false;
};

/// Takes the leading words that are options off `words`. Where one is wrong: what is wrong, in
/// `problem`, and nothing.
std::optional<RunOptions> take_options(Words& words, std::string& problem);

}  // namespace rille::shell
