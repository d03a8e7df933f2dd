#include "interpreter/lua/sources.h"

namespace rille::lua {

// What the list and the table take for one is about as much as the struct itself.
size_t Sources::Source::bytes() const { return name.size() + text.size() + 2 * sizeof *this; }

void Sources::keep(std::string name, std::string text) {
  if (const auto it = places_.find(name); it != places_.end()) forget(it->second);
  std::list<Source> latest;
  latest.push_back({std::move(name), std::move(text)});
  places_.emplace(latest.back().name, latest.begin());
  bytes_ += latest.back().bytes();
  list_.splice(list_.end(), latest);
  while (bytes_ > kMost && list_.size() > 1) forget(list_.begin());
}

const std::string* Sources::find(std::string_view name) const {
  const auto it = places_.find(name);
  return it == places_.end() ? nullptr : &it->second->text;
}

void Sources::forget(Place at) {
  bytes_ -= at->bytes();
  places_.erase(at->name);
  list_.erase(at);
}

}  // namespace rille::lua
