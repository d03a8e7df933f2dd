// What amp.scale_loss asks of the engine (stdlib's rille.apex): a loss whose backward is known to
// be scaled, and gradients divided by the scale.
#include "amp/unscale.h"
#include "autograd/node.h"
#include "autograd/scaled.h"
#include "interpreter/bind/bind.h"
#include "ops/arith.h"
#include "ops/autocast.h"

namespace rille::bind {
namespace {

// native.scaled_loss(loss, scale) -> loss * scale; gradients of its backward are marked as scaled
void scaled_loss(Call& c) {
  const Tensor y = call<Mul>({c.tensor(1, "loss"), Tensor::number(c.number(2, "scale"))});
  if (y.needs_grad())
    autograd::add_hook(y, [site = c.where()](const Tensor&) {
      autograd::mark_pass_scaled(site);
      return Tensor();
    });
  c.give(y);
}

struct Entry {
  amp::ScaledParam scaled;
  Tensor aside;  // the gradient of earlier passes, unscaled already
};

std::vector<Entry> entries_of(Call& c) {
  std::vector<Entry> entries;
  for (lua::TensorField& f : c.tensor_fields(1, "entries")) {
    if (f.position >= entries.size()) entries.resize(f.position + 1);
    Entry& entry = entries[f.position];
    (f.key == "param" ? entry.scaled.param : entry.aside) = std::move(f.tensor);
    entry.scaled.master = true;  // 16-bit gradients become f32 whoever steps
  }
  return entries;
}

// native.unscale_gradients(entries, inverse) -> whether all were finite. Gradients of parameters
// are multiplied by `inverse`, then what stood aside is added.
void unscale_gradients(Call& c) {
  const std::vector<Entry> entries = entries_of(c);
  std::vector<amp::ScaledParam> params;
  for (const Entry& entry : entries) params.push_back(entry.scaled);
  const bool finite = amp::unscale(params, c.number(2, "inverse")).empty();
  const NoGrad quiet;
  for (const Entry& entry : entries) {
    if (!entry.aside) continue;
    autograd::GradMeta& meta = autograd::grad_meta(entry.scaled.param);
    if (meta.grad)
      call_<Add>({.x = meta.grad, .y = entry.aside});
    else
      meta.grad = entry.aside;
  }
  c.give(finite);
}

// native.forget_casts(): weights that autocast holds casts of are cast anew
void forget_casts(Call&) { rille::forget_casts(); }

}  // namespace

void bind_apex(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"scaled_loss", scaled_loss},
                                            {"unscale_gradients", unscale_gradients},
                                            {"forget_casts", forget_casts}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
