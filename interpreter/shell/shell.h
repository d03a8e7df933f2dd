// The command line: which command, what it is given, what the program exits with.
#pragma once

namespace rille::shell {

/// Runs the command that main's arguments name; gives the exit status: 0 done, 1 the script raised
/// an error, 2 wrong usage, and the others of `rille help`. Throws nothing.
int run(int argc, char** argv);

}  // namespace rille::shell
