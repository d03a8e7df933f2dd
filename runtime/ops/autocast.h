// Step 2 of the path of an op: inside an autocast scope its arguments are cast as its policy says,
// before the tape records, so that what backward keeps is the copy and the gradient of a parameter
// comes back in the parameter's dtype. An op that was cast runs with autocast off: what it is
// composed of takes the dtypes as they come.
//
// Which scope a thread is in is a part of its word of modes (core/context.h): the number of an
// AutocastMode. So it goes wherever modes go: coroutines keep theirs, threads are given it with the
// word. Modes are never changed and live as long as the process, as texts of sites do.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "core/context.h"
#include "ops/op_info.h"

namespace rille {

/// A policy that a scope has in the place of the op's own.
struct AutocastRule {
  enum class From : uint8_t { list, script };  // a list of exceptions, or the scope's `rules`
  const OpInfo* op = nullptr;
  Autocast policy = Autocast::follow;
  From from = From::script;
  bool (*applies)(const void* args) = nullptr;  // to some calls only; null: to all
  bool operator==(const AutocastRule&) const = default;
};

/// What a scope says of the tensors of one device type. `rules` are in the order of `op`.
struct AutocastDevice {
  bool enabled = false;
  DType dtype = DType::bf16;
  std::vector<AutocastRule> rules = {};
  bool operator==(const AutocastDevice&) const = default;
};

struct AutocastMode {
  std::array<AutocastDevice, kDeviceTypes> devices = {};
  bool cache = true;  // casts of weights are kept to the end of the outermost scope
  bool operator==(const AutocastMode&) const = default;
};

/// What of the word of modes is autocast's: whether ops are cast, and the number of the mode.
constexpr int kAutocastShift = 12;
constexpr uint32_t kAutocastModes = 1u << 16;
constexpr uint32_t kAutocastNumber = (kAutocastModes - 1) << kAutocastShift;
constexpr uint32_t kAutocastBits = kAutocast | kAutocastNumber;
static_assert((kAutocastNumber & (kListeners - 1)) == 0 && kAutocastNumber < 1u << 30);

/// The bits of a mode. Throws E_ARG where there have been too many different ones.
uint32_t autocast_bits(const AutocastMode& mode);
/// The mode that a word of modes holds.
const AutocastMode& autocast_mode(uint32_t flags);
/// Sets autocast's part of the thread's word and returns what it was; on the way out of the
/// outermost scope the cached casts are dropped.
uint32_t set_autocast(uint32_t bits);

/// A mode for a C++ scope.
class AutocastScope {
 public:
  explicit AutocastScope(const AutocastMode& mode) : before_(set_autocast(autocast_bits(mode))) {}
  ~AutocastScope() { set_autocast(before_); }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  uint32_t before_;
};

/// What became of one call: for those who want to see it.
struct AutocastChoice {
  enum class Why : uint8_t {
    own,       // the op's policy
    list,      // an exception of the policy asked for
    script,    // a rule of the scope
    off,       // no scope for this device
    in_place,  // written into memory that has a dtype
    dtype,     // the call names a dtype
    none,      // no tensor that could be cast
  };
  Autocast policy = Autocast::follow;
  Why why = Why::own;
  std::optional<DType> dtype = {};  // what was cast to, or asked of the result
  int casts = 0;                    // arguments that had another dtype
};

/// Sees every call of the thread inside a scope, after it ran.
class AutocastWatcher {
 public:
  virtual ~AutocastWatcher() = default;
  virtual void saw(const OpInfo& op, const AutocastChoice& choice, const void* args,
                   const Results& out) = 0;
};
/// Null: nobody. Returns the one before.
AutocastWatcher* watch_autocast(AutocastWatcher* watcher);

/// One call inside a scope: decides, casts, and keeps autocast off while it lives.
/// Throws E_AMP_BCE where the policy is `banned`.
class AutocastStep {
 public:
  AutocastStep(const OpInfo& op, const void* args, Context& context);
  AutocastStep(const AutocastStep&) = delete;
  AutocastStep& operator=(const AutocastStep&) = delete;
  const void* args() const { return own_ ? own_.get() : given_; }
  void tell(const Results& out) const;

 private:
  const OpInfo& op_;
  const void* given_;
  const FlagScope inside_;
  AutocastChoice choice_;
  ArgBlock own_;
};

/// Tells the watcher of a call in place, which takes its arguments as they come.
void tell_in_place(const OpInfo& op, const void* args, const Tensor& dest);

/// Casts that this thread's scopes have made, and weights that were found cast already.
struct AutocastCounts {
  uint64_t casts = 0;    // all
  uint64_t weights = 0;  // of those, casts that were kept
  uint64_t reused = 0;
  uint64_t to_f16 = 0;  // calls on the tape that were lowered to f16
};
AutocastCounts autocast_counts();
/// Lets go of the casts that are kept. What is asked for after that is cast anew.
void forget_casts();

}  // namespace rille
