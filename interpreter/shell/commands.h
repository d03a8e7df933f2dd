// The commands of the program, one a file; shell.cpp has their table.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rille::shell {

using Words = std::vector<std::string>;

int run_command(const Words& words);
int plan_command(const Words& words);
int check_command(const Words& words);
int repl_command(const Words& words);
int help_command(const Words& words);
int info_command(const Words& words);
int selftest_command(const Words& words);
int bench_command(const Words& words);

/// The interactive shell after `chunks` and the script that `words` begin with, if any; behind "-e"
/// they are words for the chunks. Gives the exit status.
int explore(const Words& chunks, const Words& words);

/// Runs a chunk of our own in a fresh interpreter; gives the exit status.
int run_text(const std::string& text, const std::string& chunk, const Words& words);

/// Runs a script whose recipe another module than rille.recipe.run carries out: the one that
/// rille.plan.instead knows as `command`. `options` are the words before the script, which `words`
/// begin with. Gives the exit status.
int run_instead(const std::string& command, const Words& options, const Words& words);

/// Writes to the standard error. One that can't be written, closed or full, ends nothing.
void complain(const std::string& text) noexcept;

std::string_view version();

}  // namespace rille::shell
