// The command line: which command, what it is given, what the program exits with.
#pragma once
#include <string>
#include <vector>

namespace rille::shell {

/// Runs the command that `words` (without the program's name) name; gives the exit status:
/// 0 done, 1 the script raised an error, 2 wrong usage, and the others of `rille help`.
int run(const std::vector<std::string>& words);

}  // namespace rille::shell
