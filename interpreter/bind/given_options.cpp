#include "interpreter/bind/given_options.h"

#include "core/fail.h"

namespace rille::bind {
namespace {

double as_number(const lua::Value& v, std::string_view key) {
  if (const double* d = v.get<double>()) return *d;
  if (const int64_t* n = v.get<int64_t>()) return static_cast<double>(*n);
  throw type_error("'{}' must be a number", key);
}

}  // namespace

double GivenOptions::number(std::string_view key) const {
  return as_number(c_.option(i_, key), key);
}
std::optional<double> GivenOptions::maybe_number(std::string_view key) const {
  const lua::Value v = c_.option(i_, key);
  return v.is_nil() ? std::nullopt : std::optional(as_number(v, key));
}
bool GivenOptions::flag(std::string_view key) const {
  const lua::Value v = c_.option(i_, key);
  return v.get<bool>() && *v.get<bool>();
}
std::string GivenOptions::text(std::string_view key) const {
  return c_.text_option(i_, key).value_or(std::string());
}
std::vector<double> GivenOptions::numbers(std::string_view key) const {
  const lua::Value v = c_.option(i_, key);
  if (!v.table()) throw type_error("'{}' must be a list", key);
  std::vector<double> out;
  for (const lua::Value& one : v.table()->list) out.push_back(as_number(one, key));
  return out;
}
double GivenOptions::listed(std::string_view key, size_t k) const {
  const std::vector<double> list = numbers(key);
  if (list.size() <= k) throw type_error("'{}' must be a list of {}", key, k + 1);
  return list[k];
}

}  // namespace rille::bind
