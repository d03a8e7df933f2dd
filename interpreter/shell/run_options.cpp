#include "interpreter/shell/run_options.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "interpreter/lua/diagnose.h"

namespace rille::shell {
namespace {

// A positive number with an optional unit; 0 for anything else.
double amount(const std::string& text, bool bytes) {
  char* end = nullptr;
  const double n = std::strtod(text.c_str(), &end);
  const std::string_view unit = end;
  if (end == text.c_str() || !std::isfinite(n) || n <= 0) return 0;
  if (unit.empty()) return n;
  if (bytes && unit == "KiB") return n * 0x1p10;
  if (bytes && unit == "MiB") return n * 0x1p20;
  if (bytes && unit == "GiB") return n * 0x1p30;
  return 0;
}

struct Limit {
  std::string_view word;
  int64_t lua::Policy::*count;
  double lua::Policy::*seconds;
  std::string_view takes;
};

using lua::Policy;
constexpr Limit kLimits[] = {
    {"--max-instructions", &Policy::instruction_limit, nullptr, "a number of instructions"},
    {"--max-seconds", nullptr, &Policy::time_limit, "a number of seconds"},
    {"--max-memory", &Policy::memory_limit, nullptr, "a size such as 64MiB"},
    {"--max-lua-memory", &Policy::lua_memory_limit, nullptr, "a size such as 64MiB"},
    {"--max-tensor-memory", &Policy::tensor_memory_limit, nullptr, "a size such as 64MiB"}};

const Limit* find(const std::string& word) {
  for (const Limit& l : kLimits)
    if (l.word == word) return &l;
  return nullptr;
}

std::string unknown(const std::string& word) {
  std::vector<std::string_view> names{"--sandbox", "-i", "-l", "-e"};
  for (const Limit& l : kLimits) names.push_back(l.word);
  const std::string near = lua::nearest(word, names);
  return fmt::format("run has no option '{}'{}", word,
                     near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

// Whether the limit could be read from the word that follows it.
bool set(const Limit& limit, const std::string& text, Policy& policy) {
  const double n = amount(text, limit.takes.starts_with("a size"));
  if (n <= 0 || (limit.count && (n < 1 || n > 0x1p62))) return false;
  if (limit.count)
    policy.*limit.count = static_cast<int64_t>(n);
  else
    policy.*limit.seconds = n;
  return true;
}

// As `lua -l` has it: NAME, or GLOBAL=NAME.
std::string chunk_of(const std::string& word) {
  const size_t equals = word.find('=');
  const std::string name = equals == word.npos ? word : word.substr(equals + 1);
  return fmt::format("_G[ [==[{}]==] ] = require [==[{}]==]", word.substr(0, equals), name);
}

// How many words the option that they begin with takes; 0, and what is wrong, where it is none.
size_t take_one(const Words& words, RunOptions& options, std::string& problem) {
  const std::string& word = words[0];
  if (word == "--sandbox") {
    options.policy.sandbox = true;
    return 1;
  }
  if (word == "-i") {
    options.explore = true;
    return 1;
  }
  if (word == "-l" && words.size() > 1) {
    options.chunks.push_back(chunk_of(words[1]));
    options.modules = true;
    return 2;
  }
  if (word == "-e" && words.size() > 1) {
    options.chunks.push_back(words[1]);
    options.code = true;
    return 2;
  }
  const Limit* limit = find(word);
  if (word == "-l")
    problem = "-l needs the name of a module";
  else if (word == "-e")
    problem = "-e needs a chunk of Lua (usage: rille run -e CODE [words])";
  else if (!limit)
    problem = unknown(word);
  else if (words.size() < 2 || !set(*limit, words[1], options.policy))
    problem = fmt::format("{} needs {}", limit->word, limit->takes);
  return problem.empty() ? 2 : 0;
}

// Behind -e CODE whatever looks like none of the others is a word for the chunk.
bool is_option(const std::string& word, bool behind_code) {
  if (behind_code) return word == "-e" || word == "-i" || word == "-l";
  return word.size() > 1 && word[0] == '-';
}

}  // namespace

std::optional<RunOptions> take_options(Words& words, std::string& problem) {
  RunOptions options;
  while (!words.empty() && is_option(words[0], options.code)) {
    const size_t taken = take_one(words, options, problem);
    if (taken == 0) return {};
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  const bool own_session = options.explore || options.modules;
  if (own_session && (options.policy.sandbox || options.policy.limited())) {
    problem = "-i and -l are for scripts of one's own: not with --sandbox or limits";
    return {};
  }
  return options;
}

}  // namespace rille::shell
