// The interactive shell as a person meets it: keys go in, the screen is read.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/temp_dir.h"
#include "terminal/terminal.h"

using namespace rille::test;

namespace {

struct Shell {
  TempDir home;
  Terminal terminal;

  explicit Shell(std::initializer_list<std::string> command = {RILLE_PROGRAM, "repl"})
      : terminal(command, {{"HOME", home.path()},
                           {"XDG_STATE_HOME", home.path()},
                           {"OMP_NUM_THREADS", "2"},
                           {"LC_ALL", "C.UTF-8"}}) {
    if (!terminal.shows("> ")) FAIL("no prompt: " << terminal.rest());
  }
  /// Types a line; what follows must show `text`, and then the prompt.
  void says(const std::string& line, const std::string& text) {
    terminal.type(line + "\n");
    expects(text);
    expects("> ");
  }
  void expects(const std::string& text) {
    INFO("waiting for '" << text << "'");
    if (!terminal.shows(text)) FAIL("not shown: '" << text << "' in: " << terminal.rest());
  }
  int leave() {
    terminal.type(kCtrlD);
    return terminal.status();
  }
};

}  // namespace

TEST_CASE("shell: locals stay, values are shown", "[terminal]") {
  Shell shell;
  shell.says("local x = 1", "\n");
  shell.says("x + 1", "\n2");
  shell.says("rille.ones(2, 3)", "f32[2, 3]");
  shell.says("_1:sum():item()", "6.0");
  CHECK(shell.leave() == 0);
}

TEST_CASE("shell: what .save writes is a script that stands alone", "[terminal]") {
  Shell shell;
  const std::string path = shell.home.path() + "/saved.lua";
  shell.says("print(rille.ones(2):sum():item())", "2.0");
  shell.says(".save " + path, "\n");
  CHECK(shell.leave() == 0);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  CHECK(text.str() == "local rille = require \"rille\"\nprint(rille.ones(2):sum():item())\n");
}

TEST_CASE("shell: a tensor keeps to the width of the terminal", "[terminal]") {
  Shell shell;
  shell.says("local x = require('rille').arange(1, 400):view(20, 20)", "\n");
  shell.says("x", "{{  1,   2,   3, ...,  18,  19,  20},");
  CHECK(shell.leave() == 0);
}

TEST_CASE("shell: an input of several lines", "[terminal]") {
  Shell shell;
  shell.terminal.type("for i = 1, 3 do\n");
  shell.expects(">> ");
  shell.says("io.write('<', i, '>') end", "<1><2><3>");
  shell.terminal.type("f(\n");
  shell.expects(">> ");
  shell.terminal.type(kCtrlC);
  shell.expects("^C");
  shell.says("40 + 2", "\n42");
}

TEST_CASE("shell: Ctrl-C stops what runs and keeps the rest", "[terminal]") {
  Shell shell;
  shell.says("local kept = 7", "\n");
  for (const std::string loop :
       {"io.write('on ', 'it') while true do end",
        "io.write('on ', 'it') coroutine.wrap(function() while true do end end)()",
        "local m = require('rille').ones(64, 64) io.write('on ', 'it') while true do m:matmul(m) "
        "end",
        "io.write('on ', 'it') pcall(string.rep, 'x', -1) repeat local s = ('x'):rep(100) until "
        "false",
        "local e = require('rille').ones(1):expand(1 << 40) io.write('on ', 'it') e:sum()",
        "local e = require('rille').ones(1500, 1500) io.write('on ', 'it') e:svd()",
        "local s = ('a'):rep(200) io.write('on ', 'it') s:find(('a*'):rep(6) .. 'b')",
        "local t = {} for i = 1, 9000000 do t[i] = -i end io.write('on ', 'it') table.sort(t)",
        "io.write('on ', 'it') while true do pcall(function() while true do end end) end",
        "io.write('on ', 'it') repeat until pcall(xpcall, function() while true do end end, print)",
        "io.write('on ', 'it') coroutine.wrap(function() while true do pcall(function() "
        "coroutine.yield(1) while true do end end) end end)() while true do pcall(string.rep) end",
        "io.write('on ', 'it') while true do coroutine.resume(coroutine.create(function() "
        "while true do end end)) end"}) {
    shell.terminal.type("io.stdout:setvbuf 'no' " + loop + "\n");
    shell.expects("on it");
    shell.terminal.type(kCtrlC);
    shell.expects("stopped by SIGINT");
    shell.expects("> ");
    shell.says("kept", "\n7");
  }
  CHECK(shell.leave() == 0);
}

TEST_CASE("shell: Ctrl-C that a pcall catches still closes what is open", "[terminal]") {
  Shell shell;
  shell.terminal.type(
      "pcall(function() local c <close> = setmetatable({}, { __close = function() "
      "print('clo' .. 'sed', pcall(error, 1)) end }) io.stdout:setvbuf 'no' "
      "io.write('on ', 'it') while true do end end) print('too ' .. 'far')\n");
  shell.expects("on it");
  shell.terminal.type(kCtrlC);
  shell.expects("closed");
  shell.expects("stopped by SIGINT");
  shell.expects("> ");
  CHECK(shell.terminal.rest().find("too far") == std::string::npos);
  shell.says("pcall(error, 'caught')", "false\t\"caught\"");
}

TEST_CASE("shell: only a Ctrl-C within a second of another one ends it", "[terminal]") {
  Shell shell;
  const std::string stubborn =
      "io.stdout:setvbuf 'no' local c <close> = setmetatable({}, { __close = function() "
      "io.write('clos', 'ing') while true do end end }) io.write('on ', 'it') while true do end\n";
  for (const int wait : {1200, 0}) {
    shell.terminal.type(stubborn);
    shell.expects("on it");
    shell.terminal.type(kCtrlC);
    shell.expects("closing");
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    shell.terminal.type(kCtrlC);
    if (wait == 0) continue;
    shell.expects("stopped by SIGINT");
    shell.says("40 + 2", "\n42");
  }
  CHECK(shell.terminal.status() == 130);
}

TEST_CASE("shell: print shows control bytes as text", "[terminal]") {
  Shell shell;
  shell.says("print('\\27]0;own\\7', '\xc3\xa9')", "\\027]0;own\\007\t\xc3\xa9");
}

TEST_CASE("shell: chunks before it", "[terminal]") {
  Shell shell({RILLE_PROGRAM, "-e", "x = 5", "-e", "y = x + 1", "-i", "word"});
  shell.says("y, arg[1]", "6\t\"word\"");
  CHECK(shell.leave() == 0);
}

TEST_CASE("shell: Tab completes", "[terminal]") {
  Shell shell;
  shell.terminal.type(std::string("rille.soft_mar") + kTab);
  shell.expects("gin_loss");
  shell.terminal.type(kCtrlC);
  shell.expects("> ");
  shell.terminal.type(std::string("rille.layer_norm(x, {2}, { ep") + kTab);
  shell.expects("s = ");  // after the "ep" that was typed
  shell.terminal.type(kCtrlC);
  shell.expects("> ");
  shell.terminal.type(std::string("rille.nn.Linear(2, 3, { bi") + kTab + "false })\n");
  shell.expects("Linear(in=2, out=3, bias=false");
  shell.expects("> ");
  shell.terminal.type(std::string("rille.conv") + kTab + kTab);
  shell.expects("conv_transpose2d");
  shell.terminal.type(kCtrlC);
  shell.expects("> ");
  shell.says("1 + 1", "\n2");
}

TEST_CASE("shell: history is kept from session to session", "[terminal]") {
  TempDir home;
  for (int session = 0; session < 2; ++session) {
    Terminal terminal({RILLE_PROGRAM}, {{"XDG_STATE_HOME", home.path()}});
    REQUIRE(terminal.shows("> "));
    terminal.type(session == 0 ? "print(6 *\n7)\n" : std::string(kUp) + "\n");
    if (!terminal.shows("\n42") || !terminal.shows("> ")) FAIL(terminal.rest());
    terminal.type(kCtrlD);
    CHECK(terminal.status() == 0);
  }
}

TEST_CASE("shell: an empty HOME is no place for a history", "[terminal]") {
  const std::filesystem::path root = "/.local/state/rille";
  if (std::filesystem::exists(root)) return;  // somebody else's
  Terminal terminal({RILLE_PROGRAM}, {{"HOME", ""}, {"XDG_STATE_HOME", ""}});
  REQUIRE(terminal.shows("> "));
  terminal.type("6 * 7\n");
  CHECK(terminal.shows("\n42"));
  CHECK(terminal.shows("> "));
  terminal.type(kCtrlD);
  CHECK(terminal.status() == 0);
  CHECK(!std::filesystem::exists(root));
}

TEST_CASE("shell: errors, help, and the way out", "[terminal]") {
  Shell shell;
  shell.says("error 'oops'", "oops");
  shell.says("x +* 1", "near '+'");
  shell.says("?relu", "rille.relu");
  shell.says(".hepl", "did you mean .help?");
  shell.says("'\xc3\xa4'", "\"\xc3\xa4\"");
  shell.terminal.type(".quit\n");
  CHECK(shell.terminal.status() == 0);
}

TEST_CASE("shell: after a script, with its locals, its words and modules", "[terminal]") {
  const TempDir folder;
  std::ofstream(folder / "script.lua") << "local mine = ...\nprint 'it ran'\nreturn mine .. '!'\n";
  Shell shell({RILLE_PROGRAM, "-l", "tensors=rille", "-i", folder / "script.lua", "word"});
  shell.says("mine, arg[1], _1", "\"word\"\t\"word\"\t\"word!\"");
  shell.says("tensors.ones(2)", "f32[2]");
  CHECK(shell.leave() == 0);
}

TEST_CASE("shell: a signal that ends programs ends it", "[terminal]") {
  Shell shell;
  shell.terminal.type("os.execute('kill -TERM $PPID')\n");
  CHECK(shell.terminal.status() == 143);
}
