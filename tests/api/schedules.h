// The sequences of support/schedules.lua, for tests of hosts.
#pragma once
#include "api/hosts.h"

namespace rille::test {

struct Sequence {
  std::string name;
  Value options;
  std::vector<double> values;
};

inline std::vector<Sequence> sequences() {
  Interpreter lua;
  must_run(lua, "list = dofile [[" RILLE_TEST_DIR "/support/schedules.lua]]");
  std::vector<Sequence> out;
  for (const Value& one : lua.get<Table>("list").list)
    out.push_back(
        {one["name"].as<std::string>(), one["options"], one["values"].as<std::vector<double>>()});
  return out;
}

}  // namespace rille::test
