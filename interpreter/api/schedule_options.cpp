#include "interpreter/api/schedule_options.h"

#include "core/fail.h"

namespace rille::v1::optim::lr {
namespace {

// Written so that nan is within no range.
template <class T>
void check_range(const char* name, T value, const Bounds& bounds) {
  const auto number = static_cast<double>(value);
  const auto refused = [&](const char* rule, double bound) {
    return arg_error("'{}' must be {} {}, got {}", name, rule, bound, value);
  };
  if (bounds.min && !(number >= *bounds.min)) throw refused("at least", *bounds.min);
  if (bounds.max && !(number <= *bounds.max)) throw refused("at most", *bounds.max);
  if (bounds.above && !(number > *bounds.above)) throw refused("above", *bounds.above);
  if (bounds.below && !(number < *bounds.below)) throw refused("below", *bounds.below);
}

// "'a', 'b' or 'c'"
std::string spoken(const std::vector<std::string_view>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " or ";
    text += fmt::format("'{}'", words[i]);
  }
  return text;
}

}  // namespace

void Checking::operator()(const char* name, int64_t value, const Bounds& bounds) const {
  check_range(name, value, bounds);
}
void Checking::operator()(const char* name, double value, const Bounds& bounds) const {
  check_range(name, value, bounds);
}
void Checking::operator()(const char* name, const std::string& value, const Bounds& bounds) const {
  for (const std::string_view word : bounds.words)
    if (word == value) return;
  throw type_error("'{}' must be {}, got string '{}'", name, spoken(bounds.words), value);
}
void Checking::throw_missing(const char* name) { throw arg_error("'{}' is missing", name); }

}  // namespace rille::v1::optim::lr
