// What is known of this build and this machine: rille.info() and `rille info` say the same.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace rille::bind {

/// Names and values in the order in which people read them.
std::vector<std::pair<std::string, std::string>> info();

}  // namespace rille::bind
