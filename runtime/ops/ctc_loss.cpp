#include "ops/ctc_loss.h"

#include <cmath>

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/ctc.h"
#include "ops/arith.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/math.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/scatter.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace rille {
namespace {

// ---- arguments ---------------------------------------------------------------------------------

Tensor lengths_of(const Tensor& lengths, int64_t n, std::string_view what) {
  if (lengths.dtype() != DType::i64 && lengths.dtype() != DType::i32)
    throw dtype_error("'{}' must be i64 or i32, got {}", what, name(lengths.dtype())).of(what);
  if (lengths.numel() != n || lengths.rank() > 1)
    throw shape_error("'{}' must be [{}], got {}", what, n, to_string(lengths.shape())).of(what);
  return reshape(cast(lengths, DType::i64), {n});
}

// Throws unless each length is in 0..most.
void check_lengths(const Tensor& lengths, int64_t most, std::string_view what) {
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    const int64_t length = lengths.data_as<int64_t>()[i];
    if (length < 0 || length > most)
      throw arg_error("'{}' must be from 0 to {}, got {} at {}", what, most, length, i + 1);
  }
}

// Labels that stand one after another as a row for each sequence; what is free holds the blank.
Tensor rows_of(const Tensor& target, const Tensor& lengths, int64_t blank) {
  const int64_t n = lengths.numel();
  if (target.is_meta() || lengths.is_meta())
    return Tensor::empty({n, target.numel()}, DType::i64, target.device());
  const Tensor labels = contiguous(target), counts = contiguous(lengths);
  check_lengths(counts, labels.numel(), "target_lengths");
  int64_t total = 0, longest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t length = counts.data_as<int64_t>()[i];
    total += length, longest = std::max(longest, length);
  }
  if (total != labels.numel())
    throw shape_error("'target' holds {} labels, 'target_lengths' name {}", labels.numel(), total)
        .of("target", "target_lengths");
  const Tensor rows = full({n, longest}, static_cast<double>(blank), DType::i64, target.device());
  const int64_t* from = labels.data_as<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t length = counts.data_as<int64_t>()[i];
    std::copy_n(from, length, rows.data_as<int64_t>() + i * longest);
    from += length;
  }
  return rows;
}

Tensor labels_of(const CtcLoss::Args& a, int64_t n, bool single, const Tensor& lengths) {
  const DType d = a.target.dtype();
  if (d != DType::i64 && d != DType::i32)
    throw dtype_error("'target' must be i64 or i32, got {}", name(d)).of("x", "target");
  const Tensor target = cast(a.target, DType::i64);
  if (target.rank() == 1) return single ? unsqueeze(target, 0) : rows_of(target, lengths, a.blank);
  if (target.rank() != 2 || target.size(0) != n)
    throw shape_error("'target' must be [{}, labels] or [labels], got {}", n,
                      to_string(target.shape()))
        .of("x", "target");
  return target;
}

void check_labels(const cpu::Ctc& c) {
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t i = 0; i < c.target_lengths[n]; ++i) {
      const int64_t id = c.targets[n * c.labels + i];
      if (id < 0 || id >= c.classes)
        throw index_error("label {} of sequence {} is {}: there are {} classes", i + 1, n + 1, id,
                          c.classes)
            .of("x", "target")
            .hint("ids count from 0");
    }
}

// ---- the definition in ops ---------------------------------------------------------------------

// Stands for the logarithm of 0: finite, so that gradients stay so.
constexpr double kNever = -1e30;

Tensor is(const Tensor& x, const Tensor& y) { return call<Eq>({.x = x, .y = y}); }
Tensor is(const Tensor& x, int64_t y) { return is(x, Tensor::number(y)); }
Tensor never_unless(const Tensor& mask, const Tensor& x) {
  return where(mask, x, Tensor::number(kNever));
}
Tensor log_sum(const std::vector<Tensor>& ways) {
  return call<LogSumExp>({.x = stack(ways), .dims = {0}});
}
Tensor count_up(int64_t n, Device device) {
  return call<Arange>(
      {.first = Tensor::number(int64_t{0}), .last = Tensor::number(n - 1), .device = device});
}

// The states of all sequences: [n, states], or by time [time, n, states].
struct Lattice {
  Tensor labels, emissions;  // of each state
  Tensor skips;              // whether a state may follow the one before the last
  Tensor ends;               // whether a sequence may end there
  Tensor input_lengths;      // [n, 1]
  int64_t time, states;

  explicit Lattice(const CtcLosses::Args& a)
      : input_lengths(unsqueeze(a.input_lengths, 1)),
        time(a.x.size(0)),
        states(Checked(a.target.size(1)) * 2 + 1) {
    const int64_t n = a.x.size(1);
    const Tensor state = unsqueeze(count_up(states, a.x.device()), 0);
    const Tensor real = call<Lt>({.x = state, .y = unsqueeze(a.target_lengths, 1) * 2});
    const Tensor odd = is(call<Remainder>({.x = state, .y = Tensor::number(int64_t{2})}), 1);
    const Tensor blanks = full({n, 1}, static_cast<double>(a.blank), DType::i64, a.x.device());
    const Tensor twice = call<RepeatInterleave>(
        {.x = cat({a.target, blanks}, 1), .repeats = Tensor::number(int64_t{2}), .dim = Axis{1}});
    const Tensor own = narrow(twice, 1, 0, states);
    labels = where(call<LogicalAnd>({.x = odd, .y = real}), own, Tensor::number(a.blank));
    emissions = gather(a.x, 2, expand(unsqueeze(labels, 0), {time, n, states}));
    const Tensor before = narrow(pad(labels, {2, 0}), 1, 0, states);
    const Tensor inner = call<Gt>({.x = state, .y = Tensor::number(int64_t{2})});
    skips = call<LogicalAnd>(
        {.x = call<LogicalAnd>({.x = odd, .y = inner}), .y = call<Ne>({.x = labels, .y = before})});
    const Tensor last = unsqueeze(a.target_lengths, 1) * 2;
    ends = call<LogicalOr>({.x = is(state, last), .y = is(state, last - 1)});
  }

  Tensor moved(const Tensor& x, int64_t by) const {
    const int64_t k = std::min(std::abs(by), states);
    const Tensor none = full({x.size(0), k}, kNever, x.dtype(), x.device());
    return by > 0 ? cat({none, narrow(x, 1, 0, states - k)}, 1)
                  : cat({narrow(x, 1, k, states - k), none}, 1);
  }
  Tensor at(int64_t t) const { return select(emissions, 0, t); }

  // alpha of each time, the last one that counts from there on.
  std::vector<Tensor> forward() const {
    std::vector<Tensor> alphas;
    const Tensor state = unsqueeze(count_up(states, labels.device()), 0);
    for (int64_t t = 0; t < time; ++t) {
      if (t == 0) {
        alphas.push_back(
            never_unless(call<Lt>({.x = state, .y = Tensor::number(int64_t{2})}), at(0)));
        continue;
      }
      const Tensor& a = alphas.back();
      const Tensor now = log_sum({a, moved(a, 1), never_unless(skips, moved(a, 2))}) + at(t);
      const Tensor running = call<Gt>({.x = input_lengths, .y = Tensor::number(t)});
      alphas.push_back(where(running, now, a));
    }
    return alphas;
  }

  // beta of each time without the emission there; kNever past the end.
  std::vector<Tensor> backward() const {
    const Tensor none = zeros_like(at(0)) + kNever;
    std::vector<Tensor> betas(static_cast<size_t>(time));
    Tensor b = none;
    for (int64_t t = time - 1; t >= 0; --t) {
      if (t + 1 < time) {
        const Tensor u = b + at(t + 1);
        b = log_sum({u, moved(u, -1), moved(never_unless(skips, u), -2)});
      }
      const Tensor start = never_unless(ends, zeros_like(none));
      b = where(is(input_lengths, t + 1), start, b);
      betas[static_cast<size_t>(t)] = b;
    }
    return betas;
  }

  Tensor loss(const std::vector<Tensor>& alphas) const {
    return -call<LogSumExp>({.x = never_unless(ends, alphas.back()), .dims = {1}});
  }
};

Tensor impossible(const Tensor& loss) {
  return call<Gt>({.x = loss, .y = Tensor::number(-kNever / 2)});
}

// ---- samples -----------------------------------------------------------------------------------

Tensor counts(std::initializer_list<double> values) {
  return Tensor::of(std::vector<double>(values), {static_cast<int64_t>(values.size())}, DType::i64);
}

}  // namespace

// ---- the loss ----------------------------------------------------------------------------------

Tensor CtcLoss::compose(const Args& a) {
  check_loss_input(a.x, "x");
  if (a.x.rank() != 2 && a.x.rank() != 3)
    throw shape_error("'x' must be [time, n, classes] or [time, classes], got {}",
                      to_string(a.x.shape()))
        .of("x");
  const bool single = a.x.rank() == 2;
  const DType d = a.x.dtype();
  const Tensor x = cast(single ? unsqueeze(a.x, 1) : a.x, d == DType::f64 ? d : DType::f32);
  const int64_t n = x.size(1);
  if (a.blank < 0 || a.blank >= x.size(2))
    throw arg_error("'blank' must be an id of {} classes, got {}", x.size(2), a.blank).of("x");
  const Tensor input_lengths = lengths_of(a.input_lengths, n, "input_lengths");
  const Tensor lengths = lengths_of(a.target_lengths, n, "target_lengths");
  Tensor losses =
      call<CtcLosses>({x, labels_of(a, n, single, lengths), input_lengths, lengths, a.blank});
  if (a.zero_infinity) losses = masked_fill(losses, is(losses, Tensor::number(HUGE_VAL)), 0);
  if (a.reduction == LossReduction::mean)
    losses = losses /
             cast(call<Clamp>({.x = lengths, .min = Tensor::number(int64_t{1})}), losses.dtype());
  if (single) losses = reshape(losses, {});
  return cast(reduce_loss(losses, a.reduction), d);
}
void CtcLoss::samples(SampleList& s) {
  using R = LossReduction;
  const Tensor x = log_softmax(grid({5, 2, 3}, -1, 1), -1);
  const Tensor target = ids({2, 2}, 2) + Tensor::number(int64_t{1});
  add_sample<CtcLoss>(s, {.x = x,
                          .target = target,
                          .input_lengths = counts({5, 4}),
                          .target_lengths = counts({2, 1})});
  add_sample<CtcLoss>(s, {.x = strided(x),
                          .target = counts({0, 1, 1}),
                          .input_lengths = counts({4, 5}),
                          .target_lengths = counts({1, 2}),
                          .blank = 2,
                          .reduction = R::none});
  add_sample<CtcLoss>(s, {.x = select(x, 1, 0),
                          .target = counts({2, 2}),
                          .input_lengths = counts({5}),
                          .target_lengths = counts({2}),
                          .reduction = R::sum});
  add_sample<CtcLoss>(s, {.x = x,
                          .target = target,
                          .input_lengths = counts({1, 5}),
                          .target_lengths = counts({2, 2}),
                          .zero_infinity = true});
}

// ---- single losses -----------------------------------------------------------------------------

namespace {

template <class A>
void check_sequences(const A& a) {
  if (a.x.dtype() != DType::f32 && a.x.dtype() != DType::f64)
    throw dtype_error("'x' must be f32 or f64, got {}", name(a.x.dtype())).of("x");
  if (a.x.rank() != 3 || a.target.rank() != 2 || a.target.size(0) != a.x.size(1))
    throw shape_error("needs [time, n, classes] and [n, labels], got {} and {}",
                      to_string(a.x.shape()), to_string(a.target.shape()))
        .of("x", "target");
  must_have_dtype(a.target, DType::i64, "target");
  for (const auto& [t, what] : {std::pair(&a.input_lengths, "input_lengths"),
                                std::pair(&a.target_lengths, "target_lengths")}) {
    must_have_dtype(*t, DType::i64, what);
    must_have_shape(*t, {a.x.size(1)}, what);
  }
  must_be_within(a.blank, 0, a.x.size(2) - 1, "blank");
}

// The kernels' view of the arguments, all of whose values they may rely on.
cpu::Ctc checked_args(const Tensor& x, const Tensor& target, const Tensor& input_lengths,
                      const Tensor& target_lengths, int64_t blank) {
  check_lengths(input_lengths, x.size(0), "input_lengths");
  check_lengths(target_lengths, target.size(1), "target_lengths");
  const cpu::Ctc c{x.size(0),
                   x.size(1),
                   x.size(2),
                   target.size(1),
                   target.data_as<int64_t>(),
                   input_lengths.data_as<int64_t>(),
                   target_lengths.data_as<int64_t>(),
                   blank};
  check_labels(c);
  return c;
}

}  // namespace

Meta CtcLosses::infer(const Args& a) {
  check_sequences(a);
  return meta_of({a.x.size(1)}, a.x.dtype(), a.x);
}
std::array<Meta, 2> CtcLosses::saved_meta(const Args& a) {
  const int64_t states = Checked(a.target.size(1)) * 2 + 1;
  return {infer(a), meta_of({a.x.size(1), a.x.size(0), states}, a.x.dtype(), a.x)};
}
void CtcLosses::cpu(const Args& a, Tensor& y, Saved* saved) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x), target = contiguous(a.target), in = contiguous(a.input_lengths),
               out = contiguous(a.target_lengths);
  const cpu::Ctc c = checked_args(x, target, in, out, a.blank);
  const Tensor alpha = Tensor::empty({c.batch, c.time, c.states()}, x.dtype());
  if (x.dtype() == DType::f64)
    cpu::ctc_forward(c, x.data_as<double>(), y.data_as<double>(), alpha.data_as<double>());
  else
    cpu::ctc_forward(c, x.data_as<float>(), y.data_as<float>(), alpha.data_as<float>());
  if (saved) *saved = {clone(y), alpha};
}
Tensor CtcLosses::compose(const Args& a) {
  const Tensor fits = is(a.target_lengths, 0);
  const Tensor at_once =
      masked_fill(full(fits.shape(), HUGE_VAL, a.x.dtype(), a.x.device()), fits, 0);
  if (a.x.size(0) == 0) return at_once;
  const Lattice lattice(a);
  const Tensor loss = lattice.loss(lattice.forward());
  return where(is(a.input_lengths, 0), at_once, masked_fill(loss, impossible(loss), HUGE_VAL));
}
CtcLosses::Args CtcLosses::grad(const Back<CtcLosses>& b) {
  const Args& a = b.a;
  return {.x = call<CtcLossGrad>({a.x, a.target, a.input_lengths, a.target_lengths, b.dy,
                                  b.saved.loss, b.saved.alpha, a.blank})};
}
void CtcLosses::samples(SampleList& s) {
  const Tensor x = log_softmax(grid({4, 2, 3}, -1, 1), -1);
  const Tensor target = ids({2, 2}, 2) + Tensor::number(int64_t{1});
  add_sample<CtcLosses>(s, {x, target, counts({4, 3}), counts({2, 1})});
  add_sample<CtcLosses>(s,
                        {strided(grid({4, 2, 3}, -2, 0)), target, counts({4, 0}), counts({0, 0})});
  // Differences of an infinite loss are no numbers.
  add_sample<CtcLosses>(s, {x, target, counts({4, 1}), counts({1, 2})}).gradient = false;
  add_sample<CtcLosses>(s, {x, Tensor::of(std::vector<double>{0, 0, 1, 0}, {2, 2}, DType::i64),
                            counts({4, 2}), counts({2, 2}), 2});
  add_sample<CtcLosses>(s, {x, ids({2, 0}, 2), counts({4, 0}), counts({0, 0})});
  add_sample<CtcLosses>(s, {grid({0, 1, 3}, -1, 0), ids({1, 1}, 2), counts({0}), counts({1})})
      .gradient = false;
  add_sample<CtcLosses>(s, {grid({2, 0, 3}, -1, 0), ids({0, 1}, 2), counts({}), counts({})});
}

// ---- their gradient ----------------------------------------------------------------------------

Meta CtcLossGrad::infer(const Args& a) {
  check_sequences(a);
  must_have_shape(a.dloss, {a.x.size(1)}, "dloss");
  must_have_dtype(a.loss, a.x.dtype(), "loss");
  must_have_shape(a.loss, {a.x.size(1)}, "loss");
  must_have_dtype(a.alpha, a.x.dtype(), "alpha");
  must_have_shape(a.alpha, {a.x.size(1), a.x.size(0), Checked(a.target.size(1)) * 2 + 1}, "alpha");
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void CtcLossGrad::cpu(const Args& a, Tensor& dx) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x), target = contiguous(a.target), in = contiguous(a.input_lengths),
               out = contiguous(a.target_lengths), dloss = contiguous(cast(a.dloss, x.dtype()));
  const Tensor loss = contiguous(a.loss), alpha = contiguous(a.alpha);
  const cpu::Ctc c = checked_args(x, target, in, out, a.blank);
  if (x.dtype() == DType::f64)
    cpu::ctc_backward(c, x.data_as<double>(), loss.data_as<double>(), alpha.data_as<double>(),
                      dloss.data_as<double>(), dx.data_as<double>());
  else
    cpu::ctc_backward(c, x.data_as<float>(), loss.data_as<float>(), alpha.data_as<float>(),
                      dloss.data_as<float>(), dx.data_as<float>());
}
Tensor CtcLossGrad::compose(const Args& a) {
  if (a.x.size(0) == 0) return zeros_like(a.x);
  const Lattice lattice({a.x, a.target, a.input_lengths, a.target_lengths, a.blank});
  const std::vector<Tensor> alphas = lattice.forward();
  const Tensor loss = lattice.loss(alphas);
  // What is emitted for each state and time, 0 where no alignment fits.
  const Tensor ways = stack(alphas) + stack(lattice.backward());
  const Tensor idle = call<LogicalOr>({.x = impossible(loss), .y = is(a.input_lengths, 0)});
  const Tensor shares = call<Exp>({.x = ways + unsqueeze(masked_fill(loss, idle, kNever), 1)}) *
                        unsqueeze(-masked_fill(a.dloss, idle, 0), 1);
  return scatter_add(zeros_like(a.x), 2, expand(unsqueeze(lattice.labels, 0), shares.shape()),
                     shares);
}

OpFamily family_ctc_loss() { return list_ops(OpList<CtcLoss, CtcLosses, CtcLossGrad>{}, "loss"); }

}  // namespace rille
