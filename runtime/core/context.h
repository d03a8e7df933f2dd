// What one interpreter carries through every op: modes, defaults, generator, memory pressure. There
// is one per interpreter and a plain one for each thread that uses tensors without any. Nothing
// else in the runtime is global and changeable, so that one process can hold many interpreters.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/storage.h"

namespace rille {

/// One word that every call looks at. All clear but kGrad is the fast path.
enum Flag : uint32_t {
  kGrad = 1u << 0,
  kAutocast = 1u << 1,
  kCapture = 1u << 2,
  kProfile = 1u << 3,
  kAnomaly = 1u << 4,
  kDeterministic = 1u << 5,
  kInference = 1u << 6,
  kSavedHooks = 1u << 7,
  kListeners = 1u << 8,
  kLoose = 1u << 9,  // a kernel runs that sees packed tensors a byte an element (core/tensor.h)
};

/// Numbers for one random op: Philox keyed by the seed, its counter holding the op's number.
struct Draw {
  uint64_t seed = 0;
  uint64_t number = 0;
  bool given = false;  // else the call path asks the context's generator
};

/// The counter-based generator. Its whole state is these two numbers.
struct Generator {
  uint64_t seed = 0;
  uint64_t next = 0;
  Draw draw() { return {seed, next++, true}; }
};

struct OpInfo;
class Tensor;

/// Sees every op after it ran: the profiler, capture, nan checks.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void begin(const OpInfo&) {}
  virtual void end(const OpInfo&, const Tensor* outs, size_t n) = 0;
};

/// A call of an op, as saved-tensor hooks see it.
struct OpRun {
  const char* op;    // lives as long as the process
  double flops = 0;  // additions and multiplications of products, convolutions and attention
};

/// Replaces what the tape saves (checkpointing, offloading): pack at the forward call, unpack when
/// backward needs it. Scopes nest: what an inner hook keeps passes through the outer one, so pack
/// runs with the outer ones alone on the list (autograd/saved_value.h). `by` is the op that saves;
/// it lives as long as the process.
class SavedHook {
 public:
  virtual ~SavedHook() = default;
  virtual uint64_t pack(const Tensor& t, const char* by) = 0;
  virtual Tensor unpack(uint64_t handle) = 0;
  virtual void drop(uint64_t handle) noexcept = 0;

  // A hook that will compute values a second time also follows what its scope depends on and
  // changes. All hooks on the list are told, before it happens.
  virtual void before_read(const Tensor&, const char* /*by*/) {}
  virtual void before_write(const Tensor&) {}
  /// `owner` keeps a generator of the script's alive. The context's own is not told.
  virtual void before_draw(const std::shared_ptr<void>& /*owner*/, Generator&) {}

  // It may also keep the results of kernels, so that they need not run a second time. Only the
  // innermost hook is asked. Calls nest where an op is composed of others.
  virtual void begin(const OpRun&) {}
  virtual void end(const OpRun&) {}
  /// Before a kernel runs: true where `made` was filled with its results and, behind them, what it
  /// keeps for backward.
  virtual bool recall(const OpRun&, std::vector<Tensor>& /*made*/) { return false; }
  /// After a kernel ran.
  virtual void keep(const OpRun&, std::span<const Tensor> /*outs*/,
                    std::span<const Tensor> /*saved*/) {}
};

struct Context {
  uint32_t flags = kGrad;
  DType default_dtype = DType::f32;
  Device default_device;
  Generator generator;
  bool checked_casts = false;

  int64_t allocated_since_collect = 0;
  std::function<void()> reclaim;  // frees what a collection can free; may be empty
  std::function<Site()> where;    // the script's current line; may be empty
  std::vector<Listener*> listeners;
  std::vector<std::shared_ptr<SavedHook>> saved_hooks;

  bool grad() const { return flags & kGrad; }
  Site site() const { return where ? where() : Site{}; }

  /// The context of the calling thread.
  static Context& current() {
    if (!current_) [[unlikely]]
      current_ = &fallback();
    return *current_;
  }
  /// Makes `c` the thread's context (null: the thread's plain one). Returns the one before.
  static Context* enter(Context* c) {
    Context* before = current_;
    current_ = c;
    return before;
  }

 private:
  static Context& fallback();
  // constinit: no wrapper call at each use (and UBSan of g++ 12 mistakes the wrapper for null).
  static constinit thread_local Context* current_ __attribute__((tls_model("initial-exec")));
};

/// Sets flags for a C++ scope and puts them back, on errors too.
class FlagScope {
 public:
  FlagScope(uint32_t mask, bool on) : context_(Context::current()), before_(context_.flags) {
    context_.flags = on ? before_ | mask : before_ & ~mask;
  }
  ~FlagScope() { context_.flags = before_; }
  FlagScope(const FlagScope&) = delete;
  FlagScope& operator=(const FlagScope&) = delete;

 private:
  Context& context_;
  uint32_t before_;
};

struct NoGrad : FlagScope {
  NoGrad() : FlagScope(kGrad, false) {}
};
struct EnableGrad : FlagScope {
  EnableGrad() : FlagScope(kGrad, true) {}
};

}  // namespace rille
