// What the handles of the C interface are, and the wall that no exception passes.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "rille/interpreter.hpp"
#include "rille/module.hpp"
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
struct rille_tensors {
  rille::v1::StateDict list;
};
struct rille_module {
  rille::v1::nn::Module module;
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

/// Runs `f`, whose result becomes a new handle in *out.
template <class Handle, class F>
rille_status give(Handle** out, rille_error** error, F&& f) noexcept {
  return guarded(error, [&] {
    Handle*& place = given(out, "the place for the result");
    place = new Handle{f()};
  });
}

inline const v1::Tensor& tensor_in(const rille_tensor* t) { return given(t, "the tensor").tensor; }
inline const v1::StateDict& list_in(const rille_tensors* t) {
  return given(t, "the list of tensors").list;
}
std::vector<v1::Tensor> tensors_in(const rille_tensors* t);
/// Throws E_DTYPE for what is none.
v1::Dtype dtype_of(rille_dtype dtype);
/// Writes a text and its zero. Throws E_ARG where there is too little room.
void copy_text(const std::string& from, char* out, size_t size, const char* what);

/// Writes the defaults to a struct of which the caller's version has `size` bytes, and not a byte
/// behind them. A size that is larger than ours is kept, for known_part to refuse.
template <class Options>
void init_part(Options* out, size_t size, Options defaults) {
  if (!out || size < sizeof out->size) return;
  defaults.size = size;
  std::memcpy(static_cast<void*>(out), &defaults, std::min(size, sizeof defaults));
}

/// The options as this library knows them: what the caller's version of the struct lacks has its
/// default. Throws E_ARG for a size that no version has.
template <class Options>
Options known_part(const Options* options, Options o) {
  if (!options) return o;
  if (options->size < sizeof o.size || options->size > sizeof o)
    throw v1::Error(v1::ErrorKind::argument, "E_ARG",
                    "the options are of no version that is known here", "_init sets their size");
  std::memcpy(static_cast<void*>(&o), options, options->size);
  return o;
}

}  // namespace rille::capi
