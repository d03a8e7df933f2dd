#include "attacks/corpus.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rille::attacks {
namespace {

double number(const std::string& text) {
  char* end = nullptr;
  const double n = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  return unit == "MiB" ? n * 0x1p20 : unit == "KiB" ? n * 0x1p10 : n;
}

void read_policy(Attack& a) {
  std::istringstream words(a.policy_text);
  for (std::string word; words >> word;) {
    const size_t is = word.find('=');
    const std::string name = word.substr(0, is);
    const double n = is == word.npos ? 0 : number(word.substr(is + 1));
    lua::Policy& p = a.policy;
    if (name == "sandbox")
      p.sandbox = true;
    else if (name == "alone")
      a.alone = true;
    else if (name == "beyond")
      a.beyond = n;
    else if (name == "memory")
      p.memory_limit = static_cast<int64_t>(n);
    else if (name == "lua")
      p.lua_memory_limit = static_cast<int64_t>(n);
    else if (name == "tensors")
      p.tensor_memory_limit = static_cast<int64_t>(n);
    else if (name == "instructions")
      p.instruction_limit = static_cast<int64_t>(n);
    else if (name == "seconds")
      p.time_limit = n;
    else if (name == "stop")
      p.interruptible = true, a.stop_after = n;
    else
      throw std::runtime_error(a.name + ": unknown word " + word);
  }
}

// The line without its ending, which some attacks carry: none is part of what is compared.
void add_line(std::string& to, const std::string& line) {
  if (!to.empty()) to += '\n';
  to += line;
}

}  // namespace

std::vector<Attack> read_corpus(const std::string& path) {
  std::ifstream file(path);
  std::vector<Attack> all;
  bool in_wanted = false, in_next = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("=== ")) {
      const size_t colon = line.find(": ");
      if (colon == line.npos) throw std::runtime_error("no title: " + line);
      all.push_back({});
      all.back().name = line.substr(4, colon - 4);
      all.back().title = line.substr(colon + 2);
      in_wanted = in_next = false;
    } else if (all.empty()) {
      continue;  // what the file is about
    } else if (line == "--- next") {
      in_next = true;
    } else if (line.starts_with("--- ")) {
      all.back().wanted_kind = line.substr(4);
      in_wanted = true;
    } else if (line.starts_with("| ") && all.back().code.empty()) {
      all.back().policy_text = line.substr(2);
      read_policy(all.back());
    } else if (in_wanted) {
      if (!line.empty()) add_line(all.back().wanted, line);
    } else {
      add_line(in_next ? all.back().next : all.back().code, line);
    }
  }
  if (all.empty()) throw std::runtime_error("no attack in " + path);
  return all;
}

void write_corpus(const std::string& path, const std::vector<Attack>& attacks) {
  std::string head;
  {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line) && !line.starts_with("=== ");)
      head += line + "\n";
  }
  std::ofstream file(path);
  file << head;
  for (const Attack& a : attacks) {
    file << "=== " << a.name << ": " << a.title << "\n";
    if (!a.policy_text.empty()) file << "| " << a.policy_text << "\n";
    file << a.code << "\n";
    if (!a.next.empty()) file << "--- next\n" << a.next << "\n";
    file << "--- " << a.wanted_kind << "\n";
    if (!a.wanted.empty()) file << a.wanted << "\n";
    file << (&a == &attacks.back() ? "" : "\n");
  }
}

}  // namespace rille::attacks
