// Between the interface and the engine: handles in and out, and the one place where the engine's
// errors become the host's. For the sources of librille only; they define RILLE_INSIDE, so that
// v1::Tensor is the host's and Tensor the engine's.
#pragma once
#include <cstdio>
#include <exception>
#include <functional>
#include <new>

#include "core/error.h"
#include "core/tensor.h"
#include "interpreter/lua/call.h"
#include "interpreter/lua/script_error.h"
#include "rille/error.hpp"
#include "rille/tensor.hpp"

#if !defined(RILLE_INSIDE)
#error "interpreter/api is for the sources of librille"
#endif

namespace rille::v1::detail {

struct Access {
  static void*& pointer(Tensor& t) { return t.p_; }
  static void* pointer(const Tensor& t) { return t.p_; }
};

}  // namespace rille::v1::detail

namespace rille::api {

/// A fact of errors whose texts count as C++ does; others are told to count as scripts do.
inline constexpr std::string_view kCountsFromZero = "dims and positions count from 0";

/// The host's handle of an engine's tensor, and back. An empty one stays empty.
v1::Tensor handle_of(Tensor t);
Tensor maybe_tensor_of(const v1::Tensor& t);
/// Throws E_TYPE for an empty handle.
Tensor tensor_of(const v1::Tensor& t);
std::vector<Tensor> tensors_of(std::span<const v1::Tensor> list);
std::vector<v1::Tensor> handles_of(std::vector<Tensor> list);

inline Shape shape_of(const v1::Shape& s) { return {s.begin(), s.end()}; }
inline v1::Shape list_of(const Dims& d) { return {d.begin(), d.end()}; }
/// Throws E_DTYPE for a number that is none.
DType dtype_of(v1::Dtype d);
inline v1::Dtype dtype_of(DType d) { return static_cast<v1::Dtype>(d); }
Device device_of(v1::Device d);
v1::Device device_of(Device d);

/// The host's form of an engine's error, of one that left a script, and of one of a script's
/// function that the engine called (a hook, say).
v1::Error error_of(const Error& e);
v1::Error error_of(const lua::ScriptError& e);
v1::Error error_of(const lua::LuaError& e);
/// The engine's form of a host's, on its way into a script.
Error engine_error(const v1::Error& e);
[[noreturn]] void throw_out_of_memory();
/// E_INTERNAL: what the engine did not foresee.
[[noreturn]] void throw_unforeseen(const std::exception& e);

/// What a host that asked for no script is warned of goes to its standard error.
inline void warn(const std::string& text) {
  std::fprintf(stderr, "rille: warning: %s\n", text.c_str());
}

/// What a function of the host's threw, on its way through the engine: E_HOST to a script that
/// called the engine, itself again to a host that did.
struct HostThrew : Error {
  HostThrew(std::exception_ptr e, std::string_view what)
      : Error(Kind::state, "E_HOST", std::string(what)), thrown(std::move(e)) {}
  std::exception_ptr thrown;
};
/// Runs `f`, which is the host's. Throws the engine's form of the host's errors, HostThrew for what
/// is none of them; want of memory passes.
void call_host(const std::function<void()>& f);

/// Runs `f`, in which the engine calls functions of the host's: their exceptions pass as they are.
template <class F>
decltype(auto) guarded_around_host(std::string_view op, F&& f) {
  try {
    return f();
  } catch (const v1::Error&) {
    throw;
  } catch (const HostThrew& e) {
    std::rethrow_exception(e.thrown);
  } catch (Error& e) {
    if (e.op().empty()) e.op(op);
    throw error_of(e);
  } catch (const lua::ScriptError& e) {
    throw error_of(e);
  } catch (const lua::LuaError& e) {
    throw error_of(e);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory();
  }
}

/// Runs `f`; what goes wrong leaves as rille::v1::Error. `op` names the call, where no op of the
/// engine named itself.
template <class F>
decltype(auto) guarded(std::string_view op, F&& f) {
  try {
    return guarded_around_host(op, f);
  } catch (const v1::Error&) {
    throw;
  } catch (const std::exception& e) {
    throw_unforeseen(e);
  }
}

}  // namespace rille::api
