#include "interpreter/shell/policy_words.h"

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
  std::vector<std::string_view> names{"--sandbox"};
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

}  // namespace

std::optional<Policy> take_policy(Words& words, std::string& problem) {
  Policy policy;
  while (!words.empty() && words[0].starts_with("--")) {
    if (words[0] == "--sandbox") {
      policy.sandbox = true;
      words.erase(words.begin());
      continue;
    }
    const Limit* limit = find(words[0]);
    if (!limit) {
      problem = unknown(words[0]);
      return {};
    }
    if (words.size() < 2 || !set(*limit, words[1], policy)) {
      problem = fmt::format("{} needs {}", limit->word, limit->takes);
      return {};
    }
    words.erase(words.begin(), words.begin() + 2);
  }
  return policy;
}

}  // namespace rille::shell
