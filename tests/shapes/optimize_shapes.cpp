// One step of the optimizers over lists of tensors of all sizes and dtypes, and the norms, scalings
// and sums that go with them.
#include "cpu/optimize.h"

#include "core/fail.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::StepTensor;

// A list of parameters: for each its weights, gradient, three states and, perhaps, a master copy.
struct List {
  std::vector<Array> params, grads, states, masters;
  std::vector<bool> mastered;
  std::vector<int64_t> steps;

  std::vector<StepTensor> tensors(Arrays& mine) const {
    std::vector<StepTensor> list;
    for (size_t i = 0; i < params.size(); ++i)
      list.push_back({params[i].dtype(),
                      mine[5 * i].data(),
                      grads[i].dtype(),
                      grads[i].data(),
                      params[i].size(),
                      {mine[5 * i + 1].data(), mine[5 * i + 2].data(), mine[5 * i + 3].data()},
                      mastered[i] ? static_cast<float*>(mine[5 * i + 4].data()) : nullptr,
                      steps[i]});
    return list;
  }
  Arrays blank() const {
    Arrays all;
    for (size_t i = 0; i < params.size(); ++i) {
      all.push_back(params[i]);
      for (size_t s = 0; s < 3; ++s) all.push_back(states[3 * i + s]);
      all.push_back(masters[i]);
    }
    return all;
  }
  std::string text() const {
    std::string s;
    for (size_t i = 0; i < params.size(); ++i)
      s += fmt::format(" {}[{}]{} grad {} step {};", name(params[i].dtype()), params[i].size(),
                       mastered[i] ? " master" : "", name(grads[i].dtype()), steps[i]);
    return s;
  }
};

List choose(Dice& dice) {
  List l;
  for (int64_t k = dice.between(0, 6); k > 0; --k) {
    const DType d = dice.float_type(), g = dice.flip() ? d : dice.float_type(),
                acc = accumulator(d);
    const int64_t n = dice.size(dice.one_in(5) ? 100000 : 3000);
    l.params.emplace_back(d, dice.values(n), dice);
    l.grads.emplace_back(g, dice.values(n, -1, 1), dice);
    l.states.emplace_back(acc, dice.values(n, -1, 1), dice);
    l.states.emplace_back(acc, dice.values(n, 0.01, 1), dice);
    l.states.emplace_back(acc, dice.values(n, 0.01, 1), dice);
    l.masters.emplace_back(DType::f32, l.params.back().values(), dice);
    l.mastered.push_back((d == DType::f16 || d == DType::bf16) && dice.flip());
    l.steps.push_back(dice.flip() ? 1 : dice.between(2, 500));
  }
  return l;
}

// What a step leaves of one element.
struct After {
  double w, state[3];
};

// Everything is near 1, so a few roundings of that are all that is allowed.
template <class Rule>
std::string judge(const List& l, const Arrays& got, const Rule& rule) {
  for (size_t i = 0; i < l.params.size(); ++i) {
    const DType d = l.params[i].dtype(), acc = accumulator(d);
    const Values w = l.params[i].values(), g = l.grads[i].values(), old = l.masters[i].values();
    const Values s[3] = {l.states[3 * i].values(), l.states[3 * i + 1].values(),
                         l.states[3 * i + 2].values()};
    Wants param, state[3], master;
    for (size_t k = 0; k < w.size(); ++k) {
      const After a = rule(l.steps[i], w[k], g[k], s[0][k], s[1][k], s[2][k]);
      param.push_back(rounded(d, a.w, 30, 4));
      master.push_back(l.mastered[i] ? rounded(acc, a.w, 30, 4) : Want{old[k]});
      for (size_t j = 0; j < 3; ++j) state[j].push_back(rounded(acc, a.state[j], 20, 4));
    }
    std::string wrong = differs(fmt::format("param {}", i), got[5 * i], param);
    for (size_t j = 0; j < 3 && wrong.empty(); ++j)
      wrong = differs(fmt::format("state {} of {}", j, i), got[5 * i + 1 + j], state[j]);
    if (wrong.empty()) wrong = differs(fmt::format("master {}", i), got[5 * i + 4], master);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

Outcome sgd(Dice& dice) {
  const List l = choose(dice);
  const cpu::Sgd o{.lr = 0.1,
                   .momentum = dice.any_of({0.0, 0.9}),
                   .dampening = dice.any_of({0.0, 0.3}),
                   .weight_decay = dice.any_of({0.0, 0.1}),
                   .nesterov = dice.flip(),
                   .maximize = dice.flip(),
                   .scale = dice.any_of({1.0, 0.25})};
  const auto rule = [&](int64_t step, double w, double grad, double b, double v, double u) {
    double g = o.scale * grad * (o.maximize ? -1 : 1) + o.weight_decay * w;
    if (o.momentum != 0) {
      b = step == 1 ? g : o.momentum * b + (1 - o.dampening) * g;
      g = o.nesterov ? g + o.momentum * b : b;
    }
    return After{w - o.lr * g, {b, v, u}};
  };
  return {fmt::format("momentum {} nesterov {}:{}", o.momentum, o.nesterov, l.text()),
          with_threads(
              l.blank(), [&](Arrays& mine) { cpu::sgd_step(l.tensors(mine), o); },
              [&](const Arrays& got) { return judge(l, got, rule); })};
}

Outcome adam(Dice& dice) {
  const List l = choose(dice);
  const cpu::Adam o{.lr = 0.1,
                    .eps = 1e-6,
                    .weight_decay = dice.any_of({0.0, 0.1}),
                    .decoupled = dice.flip(),
                    .amsgrad = dice.flip(),
                    .maximize = dice.flip(),
                    .scale = dice.any_of({1.0, 0.25})};
  const auto rule = [&](int64_t step, double w, double grad, double m, double v, double u) {
    double g = o.scale * grad * (o.maximize ? -1 : 1);
    if (o.decoupled)
      w *= 1 - o.lr * o.weight_decay;
    else
      g += o.weight_decay * w;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    if (o.amsgrad) u = std::max(u, v);
    const double t = static_cast<double>(step), seen = o.amsgrad ? u : v;
    const double size = std::sqrt(seen) / std::sqrt(1 - std::pow(o.beta2, t)) + o.eps;
    return After{w - o.lr * (m / (1 - std::pow(o.beta1, t))) / size, {m, v, u}};
  };
  return {fmt::format("decoupled {} amsgrad {}:{}", o.decoupled, o.amsgrad, l.text()),
          with_threads(
              l.blank(), [&](Arrays& mine) { cpu::adam_step(l.tensors(mine), o); },
              [&](const Arrays& got) { return judge(l, got, rule); })};
}

Outcome norms(Dice& dice) {
  Arrays list;
  std::string what;
  for (int64_t k = dice.between(0, 6); k > 0; --k) {
    const DType d = dice.float_type();
    list.emplace_back(d, dice.values(dice.size(dice.one_in(5) ? 100000 : 3000)), dice);
    what += fmt::format(" {}[{}]", name(d), list.back().size());
  }
  const double factor = dice.real(-2, 2);
  Wants squares;
  std::vector<Wants> scaled;
  Sum all;
  for (const Array& a : list) {
    Sum sum;
    Wants product;
    for (const double e : a.values()) {
      sum.add(e, e), all.add(e, e);
      product.push_back(rounded(a.dtype(), e * factor, 3, std::fabs(e * factor)));
    }
    squares.push_back(sum.in(DType::f64));
    scaled.push_back(std::move(product));
  }
  const double norm = static_cast<double>(std::sqrt(all.value));
  squares.push_back(rounded(DType::f64, norm, static_cast<double>(all.terms) + 5, norm));
  squares.push_back({1});  // all finite
  Arrays outs = list;
  outs.emplace_back(DType::f64, static_cast<int64_t>(squares.size()), dice);
  return {what, with_threads(
                    outs,
                    [&](Arrays& mine) {
                      std::vector<cpu::Span> spans;
                      for (size_t i = 0; i < list.size(); ++i)
                        spans.push_back({mine[i].dtype(), mine[i].data(), mine[i].size()});
                      Values found = cpu::square_sums(spans);
                      found.push_back(cpu::l2_norm(spans));
                      found.push_back(cpu::scale_all(spans, factor) ? 1 : 0);
                      mine.back().set(found);
                    },
                    [&](const Arrays& got) {
                      std::string wrong = differs("squares", got.back(), squares);
                      for (size_t i = 0; i < list.size() && wrong.empty(); ++i)
                        wrong = differs(fmt::format("scaled {}", i), got[i], scaled[i]);
                      return wrong;
                    })};
}

// A third of the gradients holds a value that is not finite.
Outcome unscale(Dice& dice) {
  Arrays list;
  std::string what;
  std::vector<bool> good;
  for (int64_t k = dice.between(0, 6); k > 0; --k) {
    const DType d = dice.float_type();
    Values v = dice.values(dice.size(dice.one_in(5) ? 100000 : 3000));
    good.push_back(v.empty() || !dice.one_in(3));
    if (!good.back())
      v[static_cast<size_t>(dice.between(0, static_cast<int64_t>(v.size()) - 1))] =
          dice.flip()   ? NAN
          : dice.flip() ? INFINITY
                        : -INFINITY;
    list.emplace_back(d, v, dice);
    what += fmt::format(" {}[{}]{}", name(d), list.back().size(), good.back() ? "" : "!");
  }
  const double factor = dice.flip() ? 1 : dice.real(-2, 2);
  std::vector<Wants> scaled;
  for (const Array& a : list) {
    Wants product;
    for (const double e : a.values())
      product.push_back(rounded(a.dtype(), e * factor, 3, std::fabs(e * factor)));
    scaled.push_back(std::move(product));
  }
  Arrays outs = list;
  outs.emplace_back(DType::f64, static_cast<int64_t>(list.size()), dice);
  return {fmt::format("by {}:{}", factor, what),
          with_threads(
              outs,
              [&](Arrays& mine) {
                std::vector<cpu::Span> spans;
                for (size_t i = 0; i < list.size(); ++i)
                  spans.push_back({mine[i].dtype(), mine[i].data(), mine[i].size()});
                const std::vector<char> finite = cpu::unscale_all(spans, factor);
                mine.back().set(Values(finite.begin(), finite.end()));
              },
              [&](const Arrays& got) {
                std::string wrong;
                for (size_t i = 0; i < list.size() && wrong.empty(); ++i) {
                  if ((got.back().values()[i] == 1) != good[i])
                    wrong = fmt::format("finite {}", i);
                  else if (good[i])
                    wrong = differs(fmt::format("unscaled {}", i), got[i], scaled[i]);
                }
                return wrong;
              })};
}

const Family kFamily("optimize", {{"sgd", 120, sgd},
                                  {"adam", 120, adam},
                                  {"norms", 200, norms},
                                  {"unscale", 200, unscale}});

}  // namespace
}  // namespace rille::shapes
