// The file format of the attack corpus. A file is a list of attacks:
//   === name: what must happen        lower case, no '|'
//   | sandbox seconds=0.1 memory=64MiB   optional: how the interpreter is opened
//   code
//   --- error                            or: --- result (the global `result`), or: --- prints
//   the exact text
#pragma once
#include <string>
#include <vector>

#include "interpreter/lua/policy.h"

namespace rille::attacks {

struct Attack {
  std::string name, title, code;
  std::string policy_text;
  lua::Policy policy;
  double stop_after = 0;  // seconds until another thread asks it to stop
  std::string wanted_kind, wanted;
};

/// Throws std::runtime_error for a malformed file.
std::vector<Attack> read_corpus(const std::string& path);
/// With what was found as what is wanted.
void write_corpus(const std::string& path, const std::vector<Attack>& attacks);

}  // namespace rille::attacks
