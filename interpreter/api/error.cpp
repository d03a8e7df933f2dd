#include "rille/error.hpp"

#include "core/fail.h"
#include "interpreter/api/inside.h"

namespace rille::v1 {

static_assert(static_cast<int>(ErrorKind::internal) == static_cast<int>(rille::Kind::internal));

std::string_view name(ErrorKind kind) { return rille::name(static_cast<rille::Kind>(kind)); }

Error::Error(ErrorKind error_kind, std::string error_code, std::string text, std::string advice)
    : kind(error_kind),
      code(std::move(error_code)),
      message(std::move(text)),
      hint(std::move(advice)) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

const char* Error::what() const noexcept {
  try {
    what_.clear();
    for (const std::string* part : {&where, &op})
      if (!part->empty()) what_ += *part + ": ";
    what_ += message;
    return what_.c_str();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

std::string Error::report() const {
  std::string out = what();
  for (const std::string& fact : facts) out += "\n     " + fact;
  if (!hint.empty()) out += "\n     hint: " + hint;
  return out;
}

namespace detail {

void throw_error(const Error& e) { throw e; }

void throw_no_error() {
  throw Error(ErrorKind::state, "E_STATE", "the result holds a value, not an error",
              "test it first: if (!result) ... result.error()");
}

}  // namespace detail
}  // namespace rille::v1

namespace rille::api {

namespace {

// The engine's texts count dims and positions as scripts do. Who reads one in C++ is told so.
bool counts_from_one(const Error& e) {
  for (const std::string& fact : e.facts())
    if (fact == kCountsFromZero) return false;
  for (const char* word : {"dim ", "position "})
    if (e.text().find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

v1::Error error_of(const Error& e) {
  v1::Error out(static_cast<v1::ErrorKind>(e.kind()), e.code(), e.text(), e.hint());
  out.op = e.op();
  out.facts = e.facts();
  if (counts_from_one(e)) out.facts.push_back("this text counts dims and positions from 1");
  return out;
}

void throw_out_of_memory() {
  throw v1::Error(v1::ErrorKind::memory, "E_OOM", "the system has no memory left");
}

void throw_unforeseen(const std::exception& e) {
  throw v1::Error(v1::ErrorKind::internal, "E_INTERNAL", e.what(),
                  "this is a mistake of Rille's; please report it");
}

}  // namespace rille::api
