#include "optim/step.h"

#include "core/budget.h"
#include "core/context.h"
#include "core/fail.h"
#include "core/written.h"
#include "ops/cast.h"
#include "ops/convert.h"
#include "optim/scaled_state.h"

namespace rille::optim {
namespace {

// The items of a step as the flat memory that the kernels want. Tensors that are not that already
// (strides, dtype of state) are replaced by copies, which `finish` writes back.
class Flat {
 public:
  Flat(std::span<const StepItem> items, int states, int64_t step, const char* name,
       const StepHow& how)
      : name_(name), how_(how) {
    for (const StepItem& item : items) add(item, states, step);
  }
  std::span<const cpu::StepTensor> list() const { return list_; }

  StepChange finish() {
    for (const auto& [original, copy] : copies_) copy_(original, copy);
    for (const Scaled& s : scaled_) write_scaled(s.values, s.kept, s.codes, s.scales);
    for (const auto& [param, exact] : exact_)
      copy_(param, call<ConvertDrawn>({.x = exact, .dtype = param.dtype()}));
    for (const Tensor& t : written_) mark_written(t, name_);
    return measured();
  }

 private:
  void add(const StepItem& item, int states, int64_t step) {
    check(item, states);
    if (item.param.is_meta()) return hold(item, states);
    if (item.param.numel() == 0) return;
    const DType d = item.param.dtype(), accumulator = d == DType::f64 ? d : DType::f32;
    cpu::StepTensor s{.dtype = d,
                      .param = dense(item.param, d),
                      .grad_dtype = item.grad.dtype(),
                      .grad = read(item.grad),
                      .n = item.param.numel(),
                      .step = step};
    for (int k = 0; k < states; ++k)
      s.state[k] = item.scale[k] ? unscaled(item.state[k], item.scale[k], accumulator,
                                            k == 0 ? Kept::value : Kept::square)
                                 : dense(item.state[k], accumulator);
    if (item.master) s.master = static_cast<float*>(dense(item.master, DType::f32));
    if (how_.stochastic && !item.master && size_of(d) == 2) {
      exact_.emplace_back(item.param, contiguous(cast(item.param, DType::f32)));
      s.master = exact_.back().second.data_as<float>();
    }
    const Tensor& stepped = item.master ? item.master : item.param;
    if (how_.measure) watched_.push_back({stepped, clone(stepped), kept_.back()});
    list_.push_back(s);
  }

  // On meta nothing is stepped: only what a step would hold besides is there.
  void hold(const StepItem& item, int states) {
    const DType d = item.param.dtype(), wide = d == DType::f64 ? d : DType::f32;
    const auto copy = [&](const Tensor& t, DType as) {
      if (!t || (t.is_contiguous() && t.dtype() == as)) return;
      kept_.push_back(Tensor::empty(t.shape(), as, t.device()));
    };
    copy(item.param, d);
    copy(item.grad, item.grad.dtype());
    copy(item.master, DType::f32);
    for (int k = 0; k < states; ++k) copy(item.state[k], wide);
    if (how_.stochastic && !item.master) copy(item.param, wide);
    if (how_.measure) kept_.push_back(Tensor::empty(item.param.shape(), d, item.param.device()));
  }

  StepChange measured() const {
    std::vector<cpu::Stepped> list;
    std::vector<Tensor> after;
    for (const Watched& w : watched_) {
      after.push_back(contiguous(w.tensor));
      list.push_back({w.tensor.dtype(), w.before.data(), after.back().data(), w.grad.dtype(),
                      w.grad.data(), w.tensor.numel()});
    }
    return cpu::step_change(list);
  }

  static void check(const StepItem& item, int states) {
    const Tensor& p = item.param;
    if (!p.is_float())
      throw dtype_error("parameters must be floats, got {}", rille::name(p.dtype()));
    if (!p.device().is_cpu() && !p.is_meta())
      throw device_error("parameters on {} can't be stepped", to_string(p.device()));
    check_same(p, item.grad, "the gradient");
    for (int k = 0; k < states; ++k) {
      if (!item.state[k]) throw fail(Kind::state, "E_STATE", "a parameter's state is incomplete");
      check_same(p, item.state[k], "the state", true);
      check_writable(item.state[k]);
      check_scales(item.state[k], item.scale[k]);
    }
    if (item.master) check_same(p, item.master, "the master copy");
    if (item.master && p.dtype() != DType::bf16 && p.dtype() != DType::f16)
      throw dtype_error("only 16-bit parameters have master copies, got {}",
                        rille::name(p.dtype()));
    check_writable(p);
  }
  static void check_same(const Tensor& p, const Tensor& t, std::string_view what,
                         bool codes = false) {
    if (t.shape() != p.shape())
      throw shape_error("{} of a parameter of shape {} has shape {}", what, to_string(p.shape()),
                        to_string(t.shape()));
    if (!t.is_float() && !(codes && has_scales(t.dtype())))
      throw dtype_error("{} must be a float, got {}", what, rille::name(t.dtype()));
    if (t.device() != p.device())
      throw device_error("{} is on {}, its parameter on {}", what, to_string(t.device()),
                         to_string(p.device()));
  }

  static void check_scales(const Tensor& state, const Tensor& scale) {
    const int64_t wanted = has_scales(state.dtype()) ? scale_count(state.numel()) : 0;
    const bool fits = scale ? scale.dtype() == DType::f32 && scale.numel() == wanted &&
                                  scale.is_contiguous() && scale.device() == state.device()
                            : wanted == 0;
    if (!fits) throw fail(Kind::state, "E_STATE", "the scales of a parameter's state don't fit it");
    if (scale) check_writable(scale);
  }

  const void* read(const Tensor& t) {
    kept_.push_back(contiguous(t));
    return kept_.back().data();
  }
  // Memory that will be written.
  void* dense(const Tensor& t, DType d) {
    if (t.is_contiguous() && t.dtype() == d) {
      written_.push_back(t);
      return t.data();
    }
    copies_.emplace_back(t, contiguous(cast(t, d)));
    return copies_.back().second.data();
  }

  // Memory that stands for codes and their scales until the end.
  void* unscaled(const Tensor& codes, const Tensor& scales, DType accumulator, Kept kept) {
    scaled_.push_back(
        {contiguous(cast(read_scaled(codes, scales, kept), accumulator)), kept, codes, scales});
    return scaled_.back().values.data();
  }

  struct Scaled {
    Tensor values;
    Kept kept;
    Tensor codes, scales;
  };
  struct Watched {
    Tensor tensor, before, grad;
  };

  const char* name_;
  const StepHow how_;
  std::vector<Watched> watched_;
  std::vector<std::pair<Tensor, Tensor>> exact_;  // parameters to be rounded by chance, from these
  std::vector<cpu::StepTensor> list_;
  std::vector<Tensor> kept_, written_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
  std::vector<Scaled> scaled_;
};

}  // namespace

StepChange sgd_step(std::span<const StepItem> items, const Sgd& options, int64_t step,
                    const StepHow& how) {
  const NoGrad quiet;
  const Unit whole;
  Flat flat(items, options.momentum != 0 ? 1 : 0, step, "SGD step", how);
  cpu::sgd_step(flat.list(), options);
  return flat.finish();
}

StepChange adam_step(std::span<const StepItem> items, const Adam& options, int64_t step,
                     const StepHow& how) {
  const NoGrad quiet;
  const Unit whole;
  const char* name = options.decoupled ? "AdamW step" : "Adam step";
  Flat flat(items, options.amsgrad ? 3 : 2, step, name, how);
  cpu::adam_step(flat.list(), options);
  return flat.finish();
}

}  // namespace rille::optim
