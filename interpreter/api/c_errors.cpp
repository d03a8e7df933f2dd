// The C interface: versions and errors.
#include "interpreter/api/c_handles.h"

using rille::capi::made;

namespace rille::capi {

rille_status report(rille_error** out, const v1::Error& e) noexcept {
  if (out) *out = made([&] { return new rille_error{e, e.report()}; });
  return status_of(e.kind);
}

rille_status report_no_memory(rille_error** out) noexcept {
  try {
    return report(out, v1::Error(v1::ErrorKind::memory, "E_OOM", "the system has no memory left"));
  } catch (const std::bad_alloc&) {
    return RILLE_ERROR_MEMORY;
  }
}

}  // namespace rille::capi

uint32_t rille_abi_version(void) { return RILLE_ABI_MAJOR * 65536 + RILLE_ABI_MINOR; }
const char* rille_version(void) { return RILLE_VERSION; }

rille_error* rille_error_new(const char* code, const char* message) {
  return made([&] {
    const rille::v1::Error e(rille::v1::ErrorKind::state, code ? code : "E_HOST",
                             message ? message : "");
    return new rille_error{e, e.report()};
  });
}
void rille_error_delete(rille_error* error) { delete error; }

rille_status rille_error_status(const rille_error* e) {
  return e ? rille::capi::status_of(e->error.kind) : RILLE_OK;
}
const char* rille_error_code(const rille_error* e) { return e ? e->error.code.c_str() : ""; }
const char* rille_error_op(const rille_error* e) { return e ? e->error.op.c_str() : ""; }
const char* rille_error_message(const rille_error* e) { return e ? e->error.message.c_str() : ""; }
const char* rille_error_hint(const rille_error* e) { return e ? e->error.hint.c_str() : ""; }
const char* rille_error_where(const rille_error* e) { return e ? e->error.where.c_str() : ""; }
const char* rille_error_traceback(const rille_error* e) {
  return e ? e->error.traceback.c_str() : "";
}
const char* rille_error_report(const rille_error* e) { return e ? e->report.c_str() : ""; }
size_t rille_error_fact_count(const rille_error* e) { return e ? e->error.facts.size() : 0; }
void rille_error_describe(rille_error* e, rille_status kind, const char* op, const char* hint) {
  if (!e) return;
  (void)made([&] {
    if (kind > RILLE_OK && kind <= RILLE_ERROR_INTERNAL)
      e->error.kind = static_cast<rille::v1::ErrorKind>(kind - 1);
    if (op) e->error.op = op;
    if (hint) e->error.hint = hint;
    e->report = e->error.report();
    return e;
  });
}
void rille_error_add_fact(rille_error* e, const char* fact) {
  if (!e || !fact) return;
  (void)made([&] {
    e->error.facts.emplace_back(fact);
    e->report = e->error.report();
    return e;
  });
}
// Names of kinds are literals: a zero follows them.
const char* rille_status_name(rille_status status) {
  if (status == RILLE_OK) return "ok";
  if (status < RILLE_OK || status > RILLE_ERROR_INTERNAL) return nullptr;
  return name(static_cast<rille::v1::ErrorKind>(status - 1)).data();
}
const char* rille_error_fact(const rille_error* e, size_t i) {
  return e && i < e->error.facts.size() ? e->error.facts[i].c_str() : "";
}
