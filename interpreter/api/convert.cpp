#include "rille/convert.hpp"

#include <cmath>

#include "core/fail.h"

namespace rille::v1::detail {
namespace {

// "position 3 of argument 1", "'weights'"
std::string text_of(const Place& at) {
  std::string text;
  for (const Place* p = &at; p; p = p->outer) {
    if (!text.empty()) text += " of ";
    text += p->number > 0 ? fmt::format("{} {}", p->what, p->number) : fmt::format("'{}'", p->what);
  }
  return text;
}

}  // namespace

void throw_wrong(const Value& got, std::string_view wanted, const Place& at) {
  throw Error(ErrorKind::argument, "E_TYPE",
              fmt::format("{} must be {}, got {}", text_of(at), wanted, kind_of(got)));
}

void throw_count(size_t most, size_t got) {
  throw Error(ErrorKind::argument, "E_ARG",
              fmt::format("takes {} argument{}, got {}", most, most == 1 ? "" : "s", got));
}

void throw_too_large(uint64_t value) {
  throw Error(
      ErrorKind::argument, "E_ARG",
      fmt::format("{} does not fit a script's integer, which has 64 bits and a sign", value));
}

int64_t read_integer(const Value& v, const Place& at, int64_t least, int64_t most) {
  int64_t n = 0;
  if (v.integer()) {
    n = *v.integer();
  } else if (v.number() && std::floor(*v.number()) == *v.number() && *v.number() >= -0x1p63 &&
             *v.number() < 0x1p63) {
    n = static_cast<int64_t>(*v.number());
  } else {
    throw_wrong(v, v.number() ? "a whole number" : "an integer", at);
  }
  if (n < least || n > most)
    throw Error(ErrorKind::argument, "E_ARG",
                fmt::format("{} must be from {} to {}, got {}", text_of(at), least, most, n));
  return n;
}

double read_number(const Value& v, const Place& at) {
  if (v.number()) return *v.number();
  if (v.integer()) return static_cast<double>(*v.integer());
  throw_wrong(v, "a number", at);
}

}  // namespace rille::v1::detail
