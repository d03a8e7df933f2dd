#include "ops/autocast.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "autograd/node.h"
#include "core/fail.h"
#include "ops/arith.h"
#include "ops/cast.h"

namespace rille {

// ---- modes
// ---------------------------------------------------------------------------------------

namespace {

// Number 0 is outside of every scope.
struct Modes {
  std::mutex mutex;
  std::deque<AutocastMode> list{AutocastMode{}};  // places stay when it grows
};
Modes& modes() {
  static Modes& m = *new Modes;
  return m;
}

bool casts_anything(const AutocastMode& mode) {
  return std::any_of(mode.devices.begin(), mode.devices.end(),
                     [](const AutocastDevice& d) { return d.enabled; });
}

}  // namespace

uint32_t autocast_bits(const AutocastMode& mode) {
  Modes& m = modes();
  const std::lock_guard lock(m.mutex);
  // Not number 0: a scope that switches autocast off is a scope, and its end not the outermost one.
  const auto found = std::find(m.list.begin() + 1, m.list.end(), mode);
  const auto number = static_cast<uint32_t>(found - m.list.begin());
  if (number == kAutocastModes)
    throw arg_error("there have been {} different autocast scopes", kAutocastModes - 1)
        .hint("make the table of rules once, outside of the loop");
  if (found == m.list.end()) m.list.push_back(mode);
  return number << kAutocastShift | (casts_anything(mode) ? kAutocast : 0u);
}

const AutocastMode& autocast_mode(uint32_t flags) {
  // A thread asks for the same one again and again.
  thread_local const AutocastMode* last = nullptr;
  thread_local uint32_t last_number = 0;
  const uint32_t number = (flags & kAutocastNumber) >> kAutocastShift;
  if (last && number == last_number) return *last;
  Modes& m = modes();
  const std::lock_guard lock(m.mutex);
  last = &m.list[number];
  last_number = number;
  return *last;
}

uint32_t set_autocast(uint32_t bits) {
  uint32_t& flags = Context::current().flags;
  const uint32_t before = flags & kAutocastBits;
  flags = (flags & ~kAutocastBits) | (bits & kAutocastBits);
  if (before && !(bits & kAutocastNumber)) forget_casts();
  return before;
}

// ---- casts
// ---------------------------------------------------------------------------------------

namespace {

// A weight's copy. The version tells a weight that was written to, the storage one that was given
// other memory; the weight is held, so that its address means it and no other.
struct Kept {
  Tensor weight, copy;
  const Storage* storage;
  uint32_t version;
};
struct Key {
  const TensorImpl* weight;
  DType dtype;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& k) const {
    return std::hash<const void*>()(k.weight) * 31 + static_cast<size_t>(k.dtype);
  }
};

struct OfThread {
  std::unordered_map<Key, Kept, KeyHash> kept;
  AutocastCounts counts;
  AutocastWatcher* watcher = nullptr;
};
OfThread& of_thread() {
  thread_local OfThread t;
  return t;
}

bool is_weight(const Tensor& t) {
  const bool leaf = t.needs_grad() && autograd::is_leaf(t) && !t.impl()->inference;
  if (t.dtype() != DType::f32 || !leaf) return false;
  const autograd::GradMeta* m = autograd::find_grad_meta(t);
  return !m || !m->base;
}

// In grad mode whatever the script's is: the copy may be asked for again where gradients are
// wanted.
Tensor kept_cast(const Tensor& t, DType dtype) {
  OfThread& own = of_thread();
  const Key key{t.impl(), dtype};
  if (const auto it = own.kept.find(key); it != own.kept.end()) {
    if (it->second.storage == t.storage().get() && it->second.version == t.version()) {
      ++own.counts.reused;
      return it->second.copy;
    }
    own.kept.erase(it);
  }
  const FlagScope recorded(kGrad, true), plain(kInference, false);
  ++own.counts.casts, ++own.counts.weights;
  const Tensor copy = cast(t, dtype);
  own.kept.insert({key, Kept{t, copy, t.storage().get(), t.version()}});
  return copy;
}

Tensor cast_for(const Tensor& t, DType dtype, const AutocastMode& mode) {
  if (mode.cache && is_float(dtype) && size_of(dtype) == 2 && is_weight(t))
    return kept_cast(t, dtype);
  ++of_thread().counts.casts;
  return cast(t, dtype);
}

}  // namespace

AutocastCounts autocast_counts() { return of_thread().counts; }
void forget_casts() { of_thread().kept.clear(); }

// ---- choices
// -------------------------------------------------------------------------------------

namespace {

// f64 and integers are left alone, and numbers of scripts are no tensors.
bool eligible(const Tensor& t, DeviceType type) {
  return t.is_float() && t.dtype() != DType::f64 && t.device().type == type && !t.is_number();
}

DeviceType device_of(const OpInfo& op, const void* args) {
  std::optional<DeviceType> type;
  bool sure = false;  // a tensor that is no single value decides
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    if (sure || t.is_number()) return;
    if (!type || t.rank() > 0) type = t.device().type;
    sure = t.rank() > 0;
  });
  return type.value_or(DeviceType::cpu);
}

const FieldInfo* dtype_field(const OpInfo& op) {
  for (const FieldInfo& f : op.fields)
    if (f.kind == ArgKind::maybe_dtype) return &f;
  return nullptr;
}

bool names_dtype(const OpInfo& op, const void* args) {
  const FieldInfo* f = dtype_field(op);
  return f &&
         reinterpret_cast<const std::optional<DType>*>(static_cast<const char*>(args) + f->offset)
             ->has_value();
}

// A number divided by a tensor is the tensor's reciprocal times it, and has reciprocal's policy.
Autocast own_policy(const OpInfo& op, const void* args) {
  if (&op == &OpRecord<Div>::info && static_cast<const Div::Args*>(args)->x.is_number())
    return Autocast::f32;
  return op.autocast;
}

AutocastChoice policy_of(const OpInfo& op, const void* args, const AutocastDevice& device) {
  using Why = AutocastChoice::Why;
  if (!device.enabled) return {.why = Why::off};
  const auto before = [](const AutocastRule& r, const OpInfo* o) { return r.op < o; };
  const auto it = std::lower_bound(device.rules.begin(), device.rules.end(), &op, before);
  const bool ruled =
      it != device.rules.end() && it->op == &op && (!it->applies || it->applies(args));
  if (!ruled) return {.policy = own_policy(op, args)};
  return {.policy = it->policy,
          .why = it->from == AutocastRule::From::list ? Why::list : Why::script};
}

// f32 where any is f32, or where they differ otherwise; else the scope's dtype.
DType widest(const OpInfo& op, const void* args, DeviceType type, DType lower) {
  DType all = lower;
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    if (eligible(t, type) && t.dtype() != lower) all = DType::f32;
  });
  return all;
}

// What to cast to, in `choice.dtype`; nothing where the arguments stay as they are.
void choose(const OpInfo& op, const void* args, DeviceType type, DType lower,
            AutocastChoice& choice) {
  using Why = AutocastChoice::Why;
  if (choice.policy == Autocast::follow) return;
  if (names_dtype(op, args)) {
    choice.why = Why::dtype;
    return;
  }
  bool any = false, first = false, seen = false;
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    const bool good = eligible(t, type);
    if (!seen) first = good;
    seen = true;
    any |= good;
  });
  if (choice.policy == Autocast::f32_out ? !first : !any) {
    choice.why = Why::none;
    return;
  }
  if (choice.policy == Autocast::lower) choice.dtype = lower;
  if (choice.policy == Autocast::widest) choice.dtype = widest(op, args, type, lower);
  if (choice.policy == Autocast::f32 || choice.policy == Autocast::f32_out)
    choice.dtype = DType::f32;
}

[[noreturn]] void refuse(const OpInfo& op) {
  if (op.name == "bce_loss")
    throw fail(Kind::dtype, "E_AMP_BCE", "not under autocast: its gradient leaves the range of f16")
        .hint("rille.bce_with_logits_loss takes what comes before the sigmoid, and is safe");
  throw fail(Kind::dtype, "E_AMP_BCE", "banned by a rule of the autocast scope");
}

}  // namespace

AutocastStep::AutocastStep(const OpInfo& op, const void* args, Context& context)
    : op_(op), given_(args), inside_(kAutocast, false) {
  const AutocastMode& mode = autocast_mode(context.flags);
  const DeviceType type = device_of(op, args);
  const AutocastDevice& device = mode.devices[static_cast<size_t>(type)];
  choice_ = policy_of(op, args, device);
  if (choice_.policy == Autocast::banned) refuse(op);
  choose(op, args, type, device.dtype, choice_);
  if (!choice_.dtype) return;
  const DType dtype = *choice_.dtype;
  const FieldInfo* asked = choice_.policy == Autocast::f32_out ? dtype_field(op) : nullptr;
  if (asked) {
    own_ = ArgBlock(op, args);
    own_.at<std::optional<DType>>(*asked) = dtype;
    return;
  }
  const auto changes = [&](const Tensor& t) { return eligible(t, type) && t.dtype() != dtype; };
  each_tensor(op, args, [&](size_t, const Tensor& t) { choice_.casts += changes(t); });
  if (choice_.casts == 0) return;
  if (dtype == DType::f16 && context.grad()) ++of_thread().counts.to_f16;
  own_ = ArgBlock(op, args);
  each_tensor(op, own_.get(), [&](size_t, Tensor& t) {
    if (changes(t)) t = cast_for(t, dtype, mode);
  });
}

void AutocastStep::tell(const Results& out) const {
  if (AutocastWatcher* w = of_thread().watcher) [[unlikely]]
    w->saw(op_, choice_, given_, out);
}

void tell_in_place(const OpInfo& op, const void* args, const Tensor& dest) {
  AutocastWatcher* w = of_thread().watcher;
  if (!w) [[likely]]
    return;
  Results out;
  out.push_back(dest);
  w->saw(op, {.why = AutocastChoice::Why::in_place}, args, out);
}

AutocastWatcher* watch_autocast(AutocastWatcher* watcher) {
  return std::exchange(of_thread().watcher, watcher);
}

}  // namespace rille
