// The softmax family along any dim, normalisations, cross-entropy, and their gradients, against
// their formulas in double.
#include "cpu/rows.h"

#include <limits>

#include "core/fail.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Axis;

constexpr double kInf = std::numeric_limits<double>::infinity();

// Rows of a case: outer * inner lines of n.
struct Lines {
  Axis axis;
  int64_t size() const { return axis.outer * axis.n * axis.inner; }
  int64_t count() const { return axis.outer * axis.inner; }
  size_t of(int64_t line, int64_t i) const {
    return at((line / axis.inner * axis.n + i) * axis.inner + line % axis.inner);
  }
};

Lines choose_lines(Dice& dice) {
  Axis a{};
  a.inner = dice.flip() ? 1 : dice.size_from_1(200);
  a.n = dice.size(dice.one_in(4) ? 5000 : 200);
  a.outer = dice.size(std::max<int64_t>(1, 60000 / std::max<int64_t>(1, a.inner * a.n)));
  a.outer = std::min<int64_t>(a.outer, 3000);
  return {a};
}

// Now and then minus infinity, as masks write it; a line of nothing else where `hopeless`.
Array logits(Dice& dice, DType d, const Lines& l) {
  Values v = dice.values(l.size(), -5, 5);
  if (dice.one_in(3))
    for (double& e : v)
      if (dice.one_in(5)) e = -kInf;
  return Array(d, v, dice);
}

double top_of(const Values& v, const Lines& l, int64_t line) {
  double top = -kInf;
  for (int64_t i = 0; i < l.axis.n; ++i) top = std::max(top, v[l.of(line, i)]);
  return top;
}

Outcome softmax(Dice& dice) {
  const Lines l = choose_lines(dice);
  const DType d = dice.float_type();
  const Array x = logits(dice, d, l);
  const Values v = x.values();
  Wants soft(v.size(), {0}), logs(v.size(), {0}), totals;
  const double n = static_cast<double>(l.axis.n);
  for (int64_t line = 0; line < l.count(); ++line) {
    const double top = top_of(v, l, line);
    long double sum = 0;
    for (int64_t i = 0; i < l.axis.n; ++i) sum += std::exp(v[l.of(line, i)] - top);
    const double log_sum = static_cast<double>(std::log(sum));
    for (int64_t i = 0; i < l.axis.n; ++i) {
      const double e = v[l.of(line, i)];
      const double y = static_cast<double>(std::exp(e - top) / sum);
      soft[l.of(line, i)] = rounded(d, y, n + 40, y);
      logs[l.of(line, i)] = rounded(d, e - top - log_sum, n + 40, 10 + std::fabs(e) + log_sum);
    }
    totals.push_back(rounded(d, top == -kInf ? -kInf : top + log_sum, n + 40, 10 + log_sum));
  }
  return {fmt::format("{} {} x {} x {}", name(d), l.axis.outer, l.axis.n, l.axis.inner),
          with_threads(
              {Array(d, l.size(), dice), x, Array(d, l.count(), dice)},
              [&](Arrays& r) {
                cpu::softmax(d, x.data(), r[0].data(), l.axis);
                cpu::log_softmax(d, r[1].data(), r[1].data(), l.axis);  // in place
                cpu::logsumexp(d, x.data(), r[2].data(), l.axis);
              },
              [&](const Arrays& r) {
                std::string wrong = differs("softmax", r[0], soft);
                if (wrong.empty()) wrong = differs("log_softmax", r[1], logs);
                return wrong.empty() ? differs("logsumexp", r[2], totals) : wrong;
              })};
}

Outcome softmax_backward(Dice& dice) {
  const Lines l = choose_lines(dice);
  const DType d = dice.float_type();
  const Array y(d, dice.values(l.size(), 0, 1), dice), logs(d, dice.values(l.size(), -6, 0), dice),
      dy(d, dice.values(l.size()), dice);
  const Values p = y.values(), q = logs.values(), g = dy.values();
  Wants soft(p.size(), {0}), of_logs(p.size(), {0});
  for (int64_t line = 0; line < l.count(); ++line) {
    Sum dot, sum;
    for (int64_t i = 0; i < l.axis.n; ++i) {
      dot.add(p[l.of(line, i)], g[l.of(line, i)]);
      sum.add(g[l.of(line, i)]);
    }
    const double n = static_cast<double>(l.axis.n), total = static_cast<double>(sum.value);
    for (int64_t i = 0; i < l.axis.n; ++i) {
      const size_t k = l.of(line, i);
      soft[k] = rounded(d, p[k] * (g[k] - static_cast<double>(dot.value)), n + 5,
                        p[k] * (std::fabs(g[k]) + static_cast<double>(dot.size)));
      of_logs[k] = rounded(d, g[k] - std::exp(q[k]) * total, n + 40,
                           std::fabs(g[k]) + std::exp(q[k]) * static_cast<double>(sum.size));
    }
  }
  return {fmt::format("{} {} x {} x {}", name(d), l.axis.outer, l.axis.n, l.axis.inner),
          with_threads(
              {Array(d, l.size(), dice), dy},
              [&](Arrays& r) {
                cpu::softmax_backward(d, y.data(), dy.data(), r[0].data(), l.axis);
                cpu::log_softmax_backward(d, logs.data(), r[1].data(), r[1].data(), l.axis);
              },
              [&](const Arrays& r) {
                const std::string wrong = differs("softmax", r[0], soft);
                return wrong.empty() ? differs("log_softmax", r[1], of_logs) : wrong;
              })};
}

// ---- normalisations ---------------------------------------------------------------------------

struct Norm {
  int64_t rows, n;
  DType d, affine;
  bool with_weight, with_bias, centred;
  double eps = 1e-5;
  std::string text() const {
    return fmt::format("{} {} {} x {} affine {} weight {} bias {}", centred ? "layer" : "rms",
                       name(d), rows, n, name(affine), with_weight, with_bias);
  }
};

Norm choose_norm(Dice& dice) {
  Norm c{};
  c.n = dice.size_from_1(dice.one_in(4) ? 4200 : 300);
  c.rows = dice.size(std::max<int64_t>(1, 60000 / c.n));
  c.d = dice.float_type();
  c.affine = dice.any_of({c.d, DType::f32});
  c.with_weight = !dice.one_in(3), c.centred = dice.flip();
  c.with_bias = c.centred && c.with_weight && dice.flip();
  return c;
}

struct Stats {
  double mean, rstd, size;  // size: of the largest element
};

Stats stats_of(const Norm& c, const Values& x, int64_t row) {
  long double sum = 0, squares = 0;
  double size = 0;
  for (int64_t i = 0; i < c.n; ++i) sum += x[at(row * c.n + i)];
  const long double mean = c.centred ? sum / c.n : 0;
  for (int64_t i = 0; i < c.n; ++i) {
    const double e = x[at(row * c.n + i)];
    squares += (e - mean) * (e - mean);
    size = std::max(size, std::fabs(e));
  }
  return {static_cast<double>(mean), static_cast<double>(1 / std::sqrt(squares / c.n + c.eps)),
          size};
}

Outcome norm(Dice& dice) {
  const Norm c = choose_norm(dice);
  const DType acc = accumulator(c.d);
  const Array x(c.d, dice.values(c.rows * c.n), dice), w(c.affine, dice.values(c.n), dice),
      b(c.affine, dice.values(c.n), dice);
  const Values v = x.values(), ws = w.values(), bs = b.values();
  const cpu::Affine affine{c.affine, c.with_weight ? w.data() : nullptr,
                           c.with_bias ? b.data() : nullptr};
  Wants y, mean, rstd;
  const double n = static_cast<double>(c.n) + 20;
  for (int64_t r = 0; r < c.rows; ++r) {
    const Stats s = stats_of(c, v, r);
    mean.push_back(rounded(acc, s.mean, n, s.size));
    rstd.push_back(rounded(acc, s.rstd, n, s.rstd * (1 + s.size * s.rstd)));
    for (int64_t i = 0; i < c.n; ++i) {
      const double hat = (v[at(r * c.n + i)] - s.mean) * s.rstd;
      const double weight = c.with_weight ? ws[at(i)] : 1, bias = c.with_bias ? bs[at(i)] : 0;
      y.push_back(rounded(
          c.d, hat * weight + bias, n,
          (1 + std::fabs(hat)) * (1 + s.size * s.rstd) * std::fabs(weight) + std::fabs(bias)));
    }
  }
  return {c.text(),
          with_threads(
              {Array(c.d, x.size(), dice), Array(acc, c.rows, dice), Array(acc, c.rows, dice)},
              [&](Arrays& r) {
                if (c.centred)
                  cpu::layer_norm(c.d, x.data(), affine, c.eps, r[0].data(), r[1].data(),
                                  r[2].data(), c.rows, c.n);
                else
                  cpu::rms_norm(c.d, x.data(), affine, c.eps, r[0].data(), r[2].data(), c.rows,
                                c.n);
              },
              [&](const Arrays& r) {
                std::string wrong = differs("y", r[0], y);
                if (wrong.empty() && c.centred) wrong = differs("mean", r[1], mean);
                return wrong.empty() ? differs("rstd", r[2], rstd) : wrong;
              })};
}

Outcome norm_backward(Dice& dice) {
  const Norm c = choose_norm(dice);
  const DType acc = accumulator(c.d);
  const Array x(c.d, dice.values(c.rows * c.n), dice), dy(c.d, dice.values(c.rows * c.n), dice),
      w(c.affine, dice.values(c.n), dice);
  const Values v = x.values(), g = dy.values(), ws = w.values();
  Values means, rstds;
  for (int64_t r = 0; r < c.rows; ++r) {
    const Stats s = stats_of(c, v, r);
    means.push_back(s.mean), rstds.push_back(s.rstd);
  }
  const Array mean(acc, means, dice), rstd(acc, rstds, dice);
  means = mean.values(), rstds = rstd.values();  // as rounded: these are the kernel's inputs
  Wants dx, dweight, dbias;
  std::vector<Sum> weights(at(c.n)), biases(at(c.n));
  for (int64_t r = 0; r < c.rows; ++r) {
    const double m = means[at(r)], s = rstds[at(r)], blur = 1 + stats_of(c, v, r).size * s;
    Sum sum, dot;
    const auto hat = [&](int64_t i) { return (v[at(r * c.n + i)] - m) * s; };
    const auto grad = [&](int64_t i) {
      return g[at(r * c.n + i)] * (c.with_weight ? ws[at(i)] : 1);
    };
    for (int64_t i = 0; i < c.n; ++i) {
      sum.add(grad(i)), dot.add(grad(i), hat(i));
      weights[at(i)].add(g[at(r * c.n + i)], hat(i));
      weights[at(i)].size += std::fabs(g[at(r * c.n + i)]) * blur;
      biases[at(i)].add(g[at(r * c.n + i)]);
    }
    const double n = static_cast<double>(c.n),
                 mean_g = c.centred ? static_cast<double>(sum.value) / n : 0,
                 mean_dot = static_cast<double>(dot.value) / n;
    const double sizes = (static_cast<double>(sum.size) + static_cast<double>(dot.size)) / n;
    for (int64_t i = 0; i < c.n; ++i)
      dx.push_back(rounded(c.d, s * (grad(i) - mean_g - hat(i) * mean_dot), n + 20,
                           s * blur * (std::fabs(grad(i)) + sizes * (1 + std::fabs(hat(i))))));
  }
  for (int64_t i = 0; i < c.n; ++i) {
    dweight.push_back(weights[at(i)].in(c.affine, 8, acc));
    dbias.push_back(biases[at(i)].in(c.affine, 8, acc));
  }
  const bool want_dx = !dice.one_in(4), want_dw = c.with_weight && !dice.one_in(4),
             want_db = c.with_bias && !dice.one_in(4);
  const cpu::Affine affine{c.affine, c.with_weight ? w.data() : nullptr, nullptr};
  return {c.text() + fmt::format(" dx {} dw {} db {}", want_dx, want_dw, want_db),
          with_threads(
              {Array(c.d, x.size(), dice), Array(c.affine, c.n, dice), Array(c.affine, c.n, dice)},
              [&](Arrays& r) {
                const cpu::NormGrads grads{want_dx ? r[0].data() : nullptr,
                                           want_dw ? r[1].data() : nullptr,
                                           want_db ? r[2].data() : nullptr};
                if (c.centred)
                  cpu::layer_norm_backward(c.d, x.data(), dy.data(), affine, mean.data(),
                                           rstd.data(), grads, c.rows, c.n);
                else
                  cpu::rms_norm_backward(c.d, x.data(), dy.data(), affine, rstd.data(), grads,
                                         c.rows, c.n);
              },
              [&](const Arrays& r) {
                std::string wrong = want_dx ? differs("dx", r[0], dx) : "";
                if (wrong.empty() && want_dw) wrong = differs("dweight", r[1], dweight);
                return wrong.empty() && want_db ? differs("dbias", r[2], dbias) : wrong;
              })};
}

// ---- cross-entropy ----------------------------------------------------------------------------

Outcome cross_entropy(Dice& dice) {
  const DType d = dice.float_type(), acc = accumulator(d);
  cpu::CrossEntropy c{};
  c.classes = dice.size_from_1(dice.one_in(4) ? 5000 : 200);
  c.rows = dice.size(std::max<int64_t>(1, 60000 / c.classes));
  std::vector<int64_t> targets(at(c.rows));
  for (int64_t& t : targets) t = dice.one_in(8) ? -100 : dice.between(0, c.classes - 1);
  c.targets = targets.data();
  c.label_smoothing = dice.one_in(3) ? 0.1 : 0;
  const Array logits(d, dice.values(c.rows * c.classes, -4, 4), dice),
      weight(acc, dice.values(c.classes, 0.1, 2), dice);
  const bool weighted = dice.one_in(3), one_scale = dice.flip();
  if (weighted) c.class_weight = weight.data();
  const Array scale(acc, dice.values(one_scale ? 1 : c.rows, -1, 1), dice);
  const Values x = logits.values(), w = weight.values(), scales = scale.values();
  const auto weight_of = [&](int64_t k) { return weighted ? w[at(k)] : 1; };
  const double s = c.label_smoothing, classes = static_cast<double>(c.classes);
  double total_weight = 0, all_weights = 0;
  int64_t counted = 0;
  for (int64_t k = 0; k < c.classes; ++k) all_weights += weight_of(k);
  Wants loss, lse, dlogits;
  for (int64_t r = 0; r < c.rows; ++r) {
    const auto logit = [&](int64_t k) { return x[at(r * c.classes + k)]; };
    const int64_t t = targets[at(r)];
    double sum = 0, smooth = 0;
    for (int64_t k = 0; k < c.classes; ++k) sum += std::exp(logit(k));
    const double total = std::log(sum);
    for (int64_t k = 0; k < c.classes; ++k) smooth += weight_of(k) * (total - logit(k));
    double most = -HUGE_VAL;
    for (int64_t k = 0; k < c.classes; ++k) most = std::max(most, logit(k));
    lse.push_back({most});
    lse.push_back(rounded(acc, total - most, classes + 40, 6 + total));
    if (t < 0) {
      loss.push_back({0});
      for (int64_t k = 0; k < c.classes; ++k) dlogits.push_back({0});
      continue;
    }
    total_weight += weight_of(t), ++counted;
    const double value = (1 - s) * weight_of(t) * (total - logit(t)) + s / classes * smooth;
    loss.push_back(
        rounded(acc, value, classes + 40, (weight_of(t) + s * all_weights / classes) * 20));
    for (int64_t k = 0; k < c.classes; ++k) {
      const double p = std::exp(logit(k) - total), hit = k == t ? 1 : 0;
      const double slope =
          (1 - s) * weight_of(t) * (p - hit) + s / classes * (p * all_weights - weight_of(k));
      const double f = scales[at(one_scale ? 0 : r)];
      dlogits.push_back(
          rounded(d, f * slope, classes + 60,
                  std::fabs(f) * ((weight_of(t) + s * all_weights / classes) * (p + hit) +
                                  s / classes * weight_of(k))));
    }
  }
  const std::string what = fmt::format("{} {} x {} weights {} smoothing {} one scale {}", name(d),
                                       c.rows, c.classes, weighted, s, one_scale);
  return {what, with_threads(
                    {Array(acc, c.rows, dice), Array(acc, 2 * c.rows, dice), logits,
                     Array(DType::f64, 2, dice)},
                    [&](Arrays& r) {
                      const cpu::CrossEntropyTotals t =
                          cpu::cross_entropy(d, logits.data(), c, r[0].data(), r[1].data());
                      r[3].set({t.weight, static_cast<double>(t.bad_row < 0 ? t.counted : -1)});
                      cpu::cross_entropy_backward(d, r[2].data(), c, r[1].data(), scale.data(),
                                                  one_scale ? 0 : 1, r[2].data());
                    },
                    [&](const Arrays& r) {
                      std::string wrong = differs("loss", r[0], loss);
                      if (wrong.empty()) wrong = differs("lse", r[1], lse);
                      if (wrong.empty()) wrong = differs("dlogits", r[2], dlogits);
                      const double n = static_cast<double>(counted);
                      return wrong.empty()
                                 ? differs(
                                       "totals", r[3],
                                       {{total_weight, n * unit_roundoff(acc) * total_weight}, {n}})
                                 : wrong;
                    })};
}

const Family kFamily("rows", {{"softmax", 250, softmax},
                              {"softmax_backward", 250, softmax_backward},
                              {"norm", 250, norm},
                              {"norm_backward", 250, norm_backward},
                              {"cross_entropy", 250, cross_entropy}});

}  // namespace
}  // namespace rille::shapes
