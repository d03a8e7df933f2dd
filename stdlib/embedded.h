// The Lua modules that live inside the binary. The table is generated from stdlib/rille by
// scripts/dev/embed.cmake, ordered by file path; `require` in the interpreter reads it.
#pragma once
#include <span>
#include <string_view>

namespace rille::stdlib {

struct Module {
  std::string_view name;    // "rille.nn.module"
  std::string_view source;  // the file's text, as it stands in the tree
};

std::span<const Module> modules();

}  // namespace rille::stdlib
