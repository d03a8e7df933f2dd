// The file format of the attack corpus. A file is a list of attacks:
//   === name: what must happen        lower case, no '|'
//   | sandbox seconds=0.1 memory=64MiB   optional: how the interpreter is opened; `alone`: in a
//                                        process of its own, whose memory is measured;
//                                        beyond=0.6: it may take so much more than its limit,
//                                        of the limit, instead of a tenth
//   code
//   --- next                             optional: the next run, whose end is what is compared
//   code
//   --- error                            or: --- result (the global `result`), or: --- prints
//   the exact text
// or, where only limits matter: --- any
#pragma once
#include <string>
#include <vector>

#include "interpreter/lua/policy.h"

namespace rille::attacks {

struct Attack {
  std::string name, title, code, next;
  std::string policy_text;
  lua::Policy policy;
  bool alone = false;
  double beyond = 0.1;    // what it may take beyond its limit of memory, of that limit
  double stop_after = 0;  // seconds until another thread asks it to stop
  std::string wanted_kind, wanted;
};

/// Throws std::runtime_error for a malformed file.
std::vector<Attack> read_corpus(const std::string& path);
/// With what was found as what is wanted.
void write_corpus(const std::string& path, const std::vector<Attack>& attacks);

}  // namespace rille::attacks
