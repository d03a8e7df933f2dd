#include "ops/call.h"

#include "autograd/node.h"
#include "core/budget.h"
#include "core/fail.h"
#include "core/rehearsal.h"
#include "core/written.h"
#include "ops/arith.h"
#include "ops/autocast.h"
#include "ops/cast.h"
#include "ops/hooked_call.h"
#include "ops/tape.h"

namespace rille {

extern const bool ops_listed;  // ops/registry.cpp: makes the linker take it along

namespace {

struct Inputs {
  Device device;
  uint64_t needs = 0;   // bit i: field i holds a tensor that wants a gradient
  bool narrow = false;  // one is a float that no arithmetic is done in
};

[[noreturn]] void refuse_devices(Device a, Device b) {
  throw device_error("tensors are on two devices: {} and {}", to_string(a), to_string(b))
      .hint("move one of them with t:to(device)");
}

// Where tensors on several devices meet: a number, or a tensor of the cpu without dims, goes along
// with the others.
Device common_device(const OpInfo& op, const void* args) {
  Device device;
  bool first = true, decided = false;
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    const bool loose = t.is_number() || (t.rank() == 0 && t.device().is_cpu());
    if (first || (device != t.device() && !loose)) {
      if (decided) refuse_devices(device, t.device());
      device = t.device();
    }
    first = false;
    decided |= !loose;
  });
  return device;
}

Inputs examine(const OpInfo& op, const void* args) {
  Inputs in;
  bool first = true, several = false;
  each_tensor(op, args, [&](size_t field, const Tensor& t) {
    const TensorImpl& i = *t.impl();
    if (i.needs_grad || (i.grad && autograd::requires_grad(t))) in.needs |= uint64_t{1} << field;
    if (std::exchange(first, false)) in.device = i.device;
    several |= i.device != in.device;
    in.narrow |= is_narrow(i.dtype);
  });
  if (several) [[unlikely]]
    in.device = common_device(op, args);
  return in;
}

// The narrow dtype among the arguments. Throws E_F8_PROMOTE where another would have to meet it.
DType narrow_dtype(const OpInfo& op, const void* args) {
  Tensor narrow, other;
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    if (!narrow && is_narrow(t.dtype())) narrow = t;
  });
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    const bool takes_part = category(t.dtype()) == Category::floating || op.broadcasts;
    if (t.rank() > 0 && takes_part && t.dtype() != narrow.dtype()) other = t;
  });
  if (other) promote(narrow.dtype(), other.dtype());
  return narrow.dtype();
}

// Narrow floats are moved and converted, never computed in: what an op would need is a common dtype
// to do it in, or scales.
[[noreturn]] void refuse_narrow(const OpInfo& op, const void* args) {
  throw fail(Kind::dtype, "E_F8_NEEDS_SCALED", "{} is for storage: nothing is computed in it",
             name(narrow_dtype(op, args)))
      .hint("rille.scaled_mm multiplies such matrices; x:to \"f32\" gives what every op takes");
}

// Where scripts asked for it (ops/call.h), products are an exception.
bool may_multiply(const OpInfo& op, const Context& context) {
  const bool is_product = op.autocast == Autocast::lower || &op == &OpRecord<Mul>::info;
  return is_product && (context.flags & kNarrowProducts);
}
void multiply_in_f32(const OpInfo& op, const void* args, Results& out) {
  const DType narrow = narrow_dtype(op, args);
  ArgBlock wide(op, args);
  each_tensor(op, wide.get(), [](size_t, Tensor& t) {
    if (is_narrow(t.dtype())) t = cast(t, DType::f32);
  });
  call_erased(op, wide.get(), out);
  for (Tensor& t : out) t = cast(t, narrow);
}

// Random ops get their number here, once, so that the tape replays the same draw.
const void* with_draw(const OpInfo& op, const void* args, ArgBlock& own, Context& context) {
  if (!op.draws) return args;
  for (const FieldInfo& f : op.fields) {
    if (f.kind != ArgKind::draw) continue;
    if (reinterpret_cast<const Draw*>(static_cast<const char*>(args) + f.offset)->given)
      return args;
    own = ArgBlock(op, args);
    own.at<Draw>(f) = context.generator.draw();
    return own.get();
  }
  return args;
}

// While one is alive, packed tensors have a byte an element: those that a kernel is given, those
// that it makes and those that ops called by it make.
class Loose {
 public:
  Loose() : before_(Context::current().flags & kLoose) { Context::current().flags |= kLoose; }
  Loose(const Loose&) = delete;
  Loose& operator=(const Loose&) = delete;
  ~Loose() {
    if (!before_) Context::current().flags &= ~uint32_t{kLoose};
  }
  bool is_outermost() const { return !before_; }

 private:
  bool before_;
};

ArgBlock loosened(const OpInfo& op, const void* args) {
  ArgBlock own(op, args);
  each_tensor(op, own.get(), [](size_t, Tensor& t) { t = rille::loosened(t); });
  return own;
}

void run_loose(const OpInfo& op, Kernel kernel, const void* args, const Metas& metas, Results& out,
               Tensor* saved) {
  bool outermost;
  {
    const Loose loose;
    outermost = loose.is_outermost();
    const ArgBlock own = loosened(op, args);
    for (const Meta& m : metas) out.emplace_made([&] { return Tensor::empty(m); });
    kernel(own.get(), out.data(), saved);
  }
  if (!outermost) return;
  for (size_t i = 0; i < metas.size(); ++i)
    if (is_packed(metas[i].dtype)) {
      const Tensor made = Tensor::empty(metas[i]);
      tighten(out[i], made);
      out[i] = made;
    }
}

bool any_packed(const OpInfo& op, const void* args) {
  bool any = false;
  each_tensor(op, args, [&](size_t, const Tensor& t) { any |= t.is_packed(); });
  return any;
}

// On meta: no kernel, but what it would have kept, and its work told to who rehearses.
void rehearse(const OpInfo& op, const void* args, Tensor* saved) {
  if (const auto& r = Rehearsal::current(); r && op.flops) r->flops += op.flops(args);
  if (!saved) return;
  Metas kept;
  op.saved_meta(args, kept);
  for (size_t i = 0; i < kept.size(); ++i) saved[i] = Tensor::empty(kept[i]);
}

void run_kernel(const OpInfo& op, Kernel kernel, const void* args, bool narrow, Results& out,
                Tensor* saved) {
  Metas metas;
  op.infer(args, metas);
  bool packed = narrow && any_packed(op, args);
  for (const Meta& m : metas) packed |= is_packed(m.dtype);
  if (packed && kernel && !op.dynamic && !metas[0].device.is_meta()) [[unlikely]]
    return run_loose(op, kernel, args, metas, out, saved);
  if (op.dynamic)
    out.resize(metas.size());
  else
    for (const Meta& m : metas) out.emplace_made([&] { return Tensor::empty(m); });
  if (kernel && !metas[0].device.is_meta()) {
    kernel(args, out.data(), saved);
    return;
  }
  if (op.dynamic)
    throw fail(Kind::device, "E_NO_KERNEL",
               "the result's shape depends on values, which meta tensors have none of");
  rehearse(op, args, saved);
}

// Blocks know the op that made them: the innermost one, where ops are composed.
void remember_maker(const OpInfo& op, std::span<const Tensor> made) {
  for (const Tensor& t : made) {
    Storage* s = t ? t.storage().get() : nullptr;
    if (s && s->bytes >= kRemembered && !s->made_by) [[unlikely]]
      s->made_by = op.name.data();
  }
}

void look(const OpInfo& op, const void* args, Results& out, const Tensor& base, bool track) {
  Views views;
  op.look(args, views);
  Poll poll;
  for (const View& v : views) {
    poll(100);  // as much work as so many elements
    if (base.is_packed()) check_packed_view(base, v.shape, v.strides, v.offset);
    out.push_back(base.alias(v.shape, v.strides, v.offset));
    if (track) autograd::set_view(out.back(), base);
  }
}

const Tensor& first_tensor(const OpInfo& op, const void* args) {
  return *reinterpret_cast<const Tensor*>(static_cast<const char*>(args) + op.fields[0].offset);
}

void record(const OpInfo& op, const void* args, Results& out, std::span<Tensor> saved,
            uint64_t needs) {
  const autograd::NodeRef node = make_node(op, args, out, saved, needs);
  for (size_t i = 0; i < out.size(); ++i)
    if (category(out[i].dtype()) == Category::floating)
      autograd::set_history(out[i], node, static_cast<uint32_t>(i));
}

[[noreturn]] void no_way(const OpInfo& op, Device device, bool gradient) {
  if (!op.no_gradient.empty())
    throw fail(Kind::state, "E_NO_GRADIENT", "there is no gradient: {}", op.no_gradient)
        .hint("detach the arguments, or call it inside rille.no_grad");
  if (gradient) throw internal_error("the op has a kernel but no gradient");
  throw fail(Kind::device, "E_NO_KERNEL", "no kernel for {}", to_string(device));
}

void run(const OpInfo& op, const void* args, Results& out, Context& context) {
  if (!op.construct) [[unlikely]]
    throw internal_error("an op is missing in its family's list ({})", ops_listed);
  const Inputs in = examine(op, args);
  const bool grad_mode = context.flags & kGrad;
  const bool taping = grad_mode && in.needs && (op.differentiable || !op.no_gradient.empty());
  ArgBlock own;
  args = with_draw(op, args, own, context);

  if (op.view) {
    look(op, args, out, first_tensor(op, args), grad_mode);
    if (taping) record(op, args, out, {}, in.needs);
    return;
  }
  Kernel kernel = op.kernel[static_cast<int>(in.device.type)];
  const bool direct = (kernel || (in.device.is_meta() && op.infer)) && (!taping || op.grad);
  if (direct) {
    if (in.narrow && !op.narrow) [[unlikely]] {
      if (may_multiply(op, context)) return multiply_in_f32(op, args, out);
      refuse_narrow(op, args);
    }
    SmallVector<Tensor, 2> saved(taping ? op.saved_tensors : 0);
    if (!(context.flags & kSavedHooks)) [[likely]]
      run_kernel(op, kernel, args, in.narrow, out, saved.empty() ? nullptr : saved.data());
    else if (!recall_results(op, args, out, saved, context)) {
      run_kernel(op, kernel, args, in.narrow, out, saved.empty() ? nullptr : saved.data());
      offer_results(op, args, out, saved, context);
    }
    remember_maker(op, out);
    if (taping) {
      remember_maker(op, saved);
      record(op, args, out, saved, in.needs);
    }
  } else if (op.compose) {
    // A composition relies on what a kernel relies on.
    Metas promised;
    if (op.infer) op.infer(args, promised);
    op.compose(args, out);
  } else {
    no_way(op, in.device, taping && !op.grad);
  }
}

void run_with_listeners(const OpInfo& op, const void* args, Results& out, Context& context) {
  if (!(context.flags & kListeners)) return run(op, args, out, context);
  const std::vector<Listener*> listeners = context.listeners;
  for (Listener* l : listeners) l->begin(op);
  run(op, args, out, context);
  for (Listener* l : listeners) l->end(op, out.data(), out.size());
}

void run_watched(const OpInfo& op, const void* args, Results& out, Context& context) {
  if (!(context.flags & kSavedHooks)) return run_with_listeners(op, args, out, context);
  const HookedCall call(op, args, context);
  run_with_listeners(op, args, out, context);
}

void run_autocast(const OpInfo& op, const void* args, Results& out, Context& context) {
  const AutocastStep step(op, args, context);
  run_watched(op, step.args(), out, context);
  step.tell(out);
}

}  // namespace

void call_erased(const OpInfo& op, const void* args, Results& out) {
  Context& context = Context::current();
  try {
    if (!(context.flags & (kListeners | kAutocast | kSavedHooks))) [[likely]]
      run(op, args, out, context);
    else if (context.flags & kAutocast)
      run_autocast(op, args, out, context);
    else
      run_watched(op, args, out, context);
  } catch (Error& e) {
    // The op that the user called is named, not one that it is composed of; backward names itself.
    if (e.code() != "E_INPLACE" && e.code() != "E_GRAPH_FREED") e.op(op.name);
    throw;
  }
}

// ---- in place
// --------------------------------------------------------------------------------------

namespace {

void refuse_leaf(const Tensor& dest, std::string_view op) {
  const autograd::GradMeta* m = autograd::find_grad_meta(dest);
  const bool leaf = dest.needs_grad() && autograd::is_leaf(dest);
  const bool leafs_view = m && m->base && m->base.needs_grad() && autograd::is_leaf(m->base);
  if (leaf || leafs_view)
    throw fail(Kind::state, "E_INPLACE", "a leaf that requires gradients can't be changed in place")
        .hint("do it inside rille.no_grad, or on a copy")
        .op(op);
}

// `copy` in the place of `t`: other memory, the same place in the graph.
Tensor with_history_of(const Tensor& t, Tensor copy) {
  if (const autograd::Edge e = autograd::edge_of(t)) autograd::set_history(copy, e.node, e.slot);
  return copy;
}

void refuse_repeated(const Tensor& dest, std::string_view op) {
  for (int d = 0; d < dest.rank(); ++d)
    if (dest.strides()[d] == 0 && dest.shape()[d] > 1)
      throw fail(Kind::state, "E_INPLACE", "several elements share one place in memory, in dim {}",
                 d + 1)
          .hint("clone the expanded tensor before writing to it")
          .op(op);
}

bool same_look(const Tensor& a, const Tensor& b) {
  return a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

// Operands that overlap the destination without being it are read from a copy; where the tape may
// keep them, those that are it, too.
void separate(const OpInfo& op, void* args, const Tensor& dest, bool taping) {
  bool first = true;
  each_tensor(op, args, [&](size_t, Tensor& t) {
    if (!first && t.storage().get() == dest.storage().get() && (taping || !same_look(t, dest)))
      t = with_history_of(t, autograd::engine_ops().clone(t));
    first = false;
  });
}

void check_fits(const Meta& m, const Tensor& dest) {
  if (m.shape != dest.shape())
    throw shape_error("the result's shape {} does not fit into {} in place", to_string(m.shape),
                      to_string(dest.shape()));
  if (category(m.dtype) > category(dest.dtype()))
    throw fail(Kind::dtype, "E_CAST_INPLACE",
               "a {} result does not fit into a tensor of {} in place", name(m.dtype),
               name(dest.dtype()));
}

void mark_written(const Tensor& dest, const OpInfo& op) {
  Storage* s = dest.storage().get();
  if (!s) return;  // on meta
  ++s->version;
  s->written_by = op.in_place_name;
  s->written_at = Context::current().site();
}

// The tape may hold on to the value that is about to be overwritten: it gets a copy of its own.
void keep_old_value(const OpInfo& op, ArgBlock& args) {
  const NoGrad quiet;
  Tensor& x = args.at<Tensor>(op.fields[0]);
  x = with_history_of(x, autograd::engine_ops().clone(x));
}

void write_direct(const OpInfo& op, ArgBlock& args, Kernel kernel, const Tensor& dest, bool narrow,
                  uint64_t needs) {
  const bool taping = needs != 0;
  if (taping) refuse_inference(op, args.get(), dest, needs);
  separate(op, args.get(), dest, taping);
  if (taping && ((op.saves ? op.saves(args.get(), needs) : op.saved_fields) & 1))
    keep_old_value(op, args);
  SmallVector<Tensor, 2> saved(taping ? op.saved_tensors : 0);
  tell_of_write(dest);
  Tensor out = dest;
  if (kernel && narrow && any_packed(op, args.get())) {
    const Loose loose;
    const ArgBlock own = loosened(op, args.get());
    out = own.at<Tensor>(op.fields[0]);
    kernel(own.get(), &out, nullptr);
    if (dest.is_packed()) tighten(out, dest);
    out = dest;
  } else if (kernel) {
    kernel(args.get(), &out, saved.empty() ? nullptr : saved.data());
  }
  mark_written(dest, op);
  if (taping) autograd::rebase_history(dest, make_node(op, args.get(), {&out, 1}, saved, needs));
}

}  // namespace

Tensor call_in_place(const OpInfo& op, const void* given) {
  Context& context = Context::current();
  const Tensor dest = first_tensor(op, given);
  if (context.flags & kAutocast) [[unlikely]] {  // memory that is there has its dtype
    const FlagScope as_they_come(kAutocast, false);
    const Tensor written = call_in_place(op, given);
    tell_in_place(op, given, written);
    return written;
  }
  try {
    const Inputs in = examine(op, given);
    const bool taping = (context.flags & kGrad) && in.needs && op.differentiable;
    if (context.flags & kGrad) refuse_leaf(dest, op.in_place_name);
    refuse_repeated(dest, op.in_place_name);
    if (in.device != dest.device()) refuse_devices(dest.device(), in.device);
    if (dest.storage() && dest.storage()->read_only)
      throw fail(Kind::state, "E_READONLY", "the tensor's memory may only be read");
    if (context.flags & kSavedHooks) [[unlikely]]
      tell_of_reads(op, given, context);
    ArgBlock drawn;
    ArgBlock args(op, with_draw(op, given, drawn, context));
    const Kernel kernel = op.kernel[static_cast<int>(dest.device().type)];
    Metas metas;
    if (op.infer) {
      op.infer(args.get(), metas);
      check_fits(metas[0], dest);
    }
    if ((kernel || dest.is_meta()) && op.infer && op.strided_out &&
        metas[0].dtype == dest.dtype() && (!taping || op.grad)) {
      if (in.narrow && !op.narrow) [[unlikely]]
        refuse_narrow(op, args.get());
      write_direct(op, args, kernel, dest, in.narrow, taping ? in.needs : 0);
    } else {
      Results r;
      if (taping) keep_old_value(op, args);
      call_erased(op, args.get(), r);
      check_fits(r[0].meta(), dest);
      call_<Copy>({.x = dest, .source = r[0]});
    }
    return dest;
  } catch (Error& e) {
    e.op(op.in_place_name);
    throw;
  }
}

}  // namespace rille
