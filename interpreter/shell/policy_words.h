// The words of `rille run` that come before the script: the sandbox and its limits.
#pragma once
#include <optional>
#include <string>

#include "interpreter/lua/policy.h"
#include "interpreter/shell/commands.h"

namespace rille::shell {

/// Takes the leading words that make a policy off `words`. Where one is wrong: what is wrong, in
/// `problem`, and nothing.
std::optional<lua::Policy> take_policy(Words& words, std::string& problem);

}  // namespace rille::shell
