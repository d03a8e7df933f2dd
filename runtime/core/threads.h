// The one thread pool: a thin wrapper over OpenMP, which oneDNN shares. Work is cut at multiples of
// `grain`, never by the number of threads, so that whoever keeps one result a chunk gets the same
// bits whatever that number is.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

namespace rille {

/// Threads that ops of the calling thread may use (at least 1).
int threads();
/// Sets it, for the calling thread and the pool it drives.
void set_threads(int n);

/// A borrowed callable; lives no longer than the call it is passed to.
template <class Signature>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: implicit by intent, as std::function_ref will be
      : object_(const_cast<void*>(static_cast<const void*>(&f))), call_([](void* o, A... a) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(std::forward<A>(a)...);
        }) {}
  R operator()(A... a) const { return call_(object_, std::forward<A>(a)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

/// Runs body(begin, end) over [0, n). Every begin is a multiple of `grain`. Runs in place when the
/// work is one grain or the pool one thread, or inside another parallel_for. The first exception of
/// a body comes out here.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

/// The same for work that may be cut at any multiple of `unit`: shares are as even as that allows.
/// `least` is worth a thread of its own; parallel_for over three grains leaves one of two threads
/// with two of them.
void parallel_evenly(int64_t n, int64_t least, int64_t unit,
                     FunctionRef<void(int64_t, int64_t)> body);

}  // namespace rille
