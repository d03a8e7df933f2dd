// What the handles of the C interface are, and the wall that no exception passes.
#pragma once
#include <memory>
#include <new>
#include <string>

#include "rille/interpreter.hpp"
#include "rille/rille_c.h"

struct rille_error {
  rille::v1::Error error;
  std::string report;
};
struct rille_tensor {
  rille::v1::Tensor tensor;
};
struct rille_value {
  rille::v1::Value value;
};
struct rille_results {
  std::vector<rille::v1::Value> values;
};
struct rille_interpreter {
  rille::v1::Interpreter interpreter;
};

namespace rille::capi {

inline rille_status status_of(v1::ErrorKind kind) { return static_cast<rille_status>(kind) + 1; }

/// Gives the error to the caller, if it wants one and there is memory for it.
rille_status report(rille_error** out, const v1::Error& e) noexcept;
rille_status report_no_memory(rille_error** out) noexcept;

/// Runs `f`; what it throws becomes a status and an error.
template <class F>
rille_status guarded(rille_error** out, F&& f) noexcept {
  if (out) *out = nullptr;
  try {
    f();
    return RILLE_OK;
  } catch (const v1::Error& e) {
    return report(out, e);
  } catch (const std::bad_alloc&) {
    return report_no_memory(out);
  } catch (const std::exception& e) {
    return report(out, v1::Error(v1::ErrorKind::internal, "E_INTERNAL", e.what()));
  }
}

/// Runs `f`, which makes a handle; null where there is no memory.
template <class F>
auto made(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// Throws E_ARG for a handle, or a place for a result, that is null.
template <class T>
T& given(T* p, const char* what) {
  if (!p) throw v1::Error(v1::ErrorKind::argument, "E_ARG", std::string(what) + " is NULL");
  return *p;
}
inline const char* text(const char* p, const char* what) { return &given(p, what); }

}  // namespace rille::capi
