// Errors of scripts as the host's, and the other way.
#include "core/fail.h"
#include "interpreter/api/inside.h"

namespace rille::api {
namespace {

// What is no error of the engine's is an error of the script's own.
v1::ErrorKind kind_named(std::string_view text) {
  for (int k = 0; k <= static_cast<int>(v1::ErrorKind::internal); ++k)
    if (v1::name(static_cast<v1::ErrorKind>(k)) == text) return static_cast<v1::ErrorKind>(k);
  return v1::ErrorKind::state;
}

}  // namespace

v1::Error error_of(const lua::ScriptError& e) {
  v1::Error out(kind_named(e.kind), e.code, e.message, e.hint);
  out.op = e.op;
  out.facts = e.facts;
  out.where = e.where;
  out.traceback = e.traceback;
  return out;
}

v1::Error error_of(const lua::LuaError& e) { return error_of(lua::script_error_of(e)); }

Error engine_error(const v1::Error& e) {
  Error out(static_cast<Kind>(e.kind), e.code, e.message);
  out.op(e.op);
  if (!e.hint.empty()) out.hint(e.hint);
  for (const std::string& line : e.facts) out.fact(line);
  return out;
}

}  // namespace rille::api
