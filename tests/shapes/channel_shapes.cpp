// batch_norm and its gradients against their formulas in double: channels of any number of images
// and positions, statistics of the batch and given ones.
#include "cpu/channel_norm.h"

#include "core/fail.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Channels;

struct Case {
  Channels shape;
  DType d, affine;
  bool with_weight, with_bias, of_batch;
  double eps = 1e-5;

  int64_t size() const { return shape.batch * shape.channels * shape.size; }
  int64_t count() const { return shape.batch * shape.size; }
  /// Where value i of a channel lies.
  size_t of(int64_t channel, int64_t i) const {
    return at((i / shape.size * shape.channels + channel) * shape.size + i % shape.size);
  }
  std::string text() const {
    return fmt::format("{} {} x {} x {} affine {} weight {} bias {} of batch {}", name(d),
                       shape.batch, shape.channels, shape.size, name(affine), with_weight,
                       with_bias, of_batch);
  }
};

Case choose(Dice& dice) {
  Case c{};
  c.shape.channels = dice.size_from_1(70);
  c.shape.size = dice.one_in(4) ? 1 : dice.size_from_1(dice.one_in(4) ? 9000 : 300);
  c.shape.batch = dice.size(std::max<int64_t>(1, 60000 / (c.shape.channels * c.shape.size)));
  c.d = dice.float_type();
  c.affine = dice.any_of({c.d, DType::f32});
  c.with_weight = !dice.one_in(3), c.with_bias = dice.flip(), c.of_batch = dice.flip();
  return c;
}

struct Moments {
  double mean, var, size;  // size: of the largest value
};

Moments moments_of(const Case& c, const Values& x, int64_t channel) {
  const int64_t n = c.count();
  long double sum = 0, squares = 0;
  double size = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[c.of(channel, i)];
  const long double mean = sum / n;
  for (int64_t i = 0; i < n; ++i) {
    const double e = x[c.of(channel, i)];
    squares += (e - mean) * (e - mean), size = std::max(size, std::fabs(e));
  }
  return {static_cast<double>(mean), static_cast<double>(squares / n), size};
}

Outcome batch_norm(Dice& dice) {
  const Case c = choose(dice);
  const DType acc = accumulator(c.d);
  const int64_t channels = c.shape.channels;
  const Array x(c.d, dice.values(c.size()), dice), w(c.affine, dice.values(channels), dice),
      b(c.affine, dice.values(channels), dice), given_mean(acc, dice.values(channels), dice),
      given_var(acc, dice.values(channels, 0.1, 3), dice);
  const Values v = x.values(), ws = w.values(), bs = b.values(), means = given_mean.values(),
               vars = given_var.values();
  Wants y(v.size(), {0}), mean, var;
  const double n = static_cast<double>(c.count()) + 20;
  for (int64_t k = 0; k < channels; ++k) {
    Moments m = moments_of(c, v, k);
    if (!c.of_batch) m.mean = means[at(k)], m.var = vars[at(k)];
    mean.push_back(rounded(acc, m.mean, n, m.size));
    var.push_back(rounded(acc, m.var, n, m.size * m.size));
    const double rstd = 1 / std::sqrt(m.var + c.eps), size = m.size + std::fabs(m.mean);
    for (int64_t i = 0; i < c.count(); ++i) {
      const double hat = (v[c.of(k, i)] - m.mean) * rstd;
      const double weight = c.with_weight ? ws[at(k)] : 1, bias = c.with_bias ? bs[at(k)] : 0;
      y[c.of(k, i)] =
          rounded(c.d, hat * weight + bias, n,
                  (1 + std::fabs(hat)) * (1 + size * rstd) * (1 + size * rstd) * std::fabs(weight) +
                      std::fabs(bias));
    }
  }
  const cpu::Affine affine{c.affine, c.with_weight ? w.data() : nullptr,
                           c.with_bias ? b.data() : nullptr};
  return {c.text(), with_threads(
                        {Array(c.d, x.size(), dice), given_mean, given_var},
                        [&](Arrays& r) {
                          cpu::batch_norm(c.d, x.data(), c.shape, affine, c.eps, c.of_batch,
                                          r[1].data(), r[2].data(), r[0].data());
                        },
                        [&](const Arrays& r) {
                          if (c.count() == 0) return std::string();
                          std::string wrong = differs("y", r[0], y);
                          if (wrong.empty()) wrong = differs("mean", r[1], mean);
                          return wrong.empty() ? differs("var", r[2], var) : wrong;
                        })};
}

struct Slopes {
  Wants dx, dweight, dbias;
};

// From mean and rstd as they were rounded: these are the kernel's inputs.
Slopes slopes_of(const Case& c, const Values& x, const Values& dy, const Values& means,
                 const Values& rstds, const Values& weights) {
  Slopes r{Wants(x.size(), {0}), {}, {}};
  const DType acc = accumulator(c.d);
  for (int64_t k = 0; k < c.shape.channels; ++k) {
    const double m = means[at(k)], s = rstds[at(k)], n = static_cast<double>(c.count());
    const double weight = c.with_weight ? weights[at(k)] : 1;
    const double blur = 1 + (moments_of(c, x, k).size + std::fabs(m)) * s;
    const auto hat = [&](int64_t i) { return (x[c.of(k, i)] - m) * s; };
    Sum sum, dot;
    for (int64_t i = 0; i < c.count(); ++i) {
      const double g = dy[c.of(k, i)];
      sum.add(g), dot.add(g, hat(i)), dot.size += std::fabs(g) * blur;
    }
    r.dweight.push_back(dot.in(c.affine, 8, acc));
    r.dbias.push_back(sum.in(c.affine, 8, acc));
    const double mean_g = c.of_batch ? static_cast<double>(sum.value) / n : 0;
    const double mean_dot = c.of_batch ? static_cast<double>(dot.value) / n : 0;
    const double sizes =
        c.of_batch ? (static_cast<double>(sum.size) + static_cast<double>(dot.size)) / n : 0;
    for (int64_t i = 0; i < c.count(); ++i) {
      const double g = dy[c.of(k, i)];
      r.dx[c.of(k, i)] =
          rounded(c.d, s * weight * (g - mean_g - hat(i) * mean_dot), n + 20,
                  s * std::fabs(weight) * blur * (std::fabs(g) + sizes * (1 + std::fabs(hat(i)))));
    }
  }
  return r;
}

Outcome batch_norm_backward(Dice& dice) {
  const Case c = choose(dice);
  const DType acc = accumulator(c.d);
  const int64_t channels = c.shape.channels;
  const Array x(c.d, dice.values(c.size()), dice), dy(c.d, dice.values(c.size()), dice),
      w(c.affine, dice.values(channels), dice);
  Values means, rstds;
  for (int64_t k = 0; k < channels; ++k) {
    const Moments m = moments_of(c, x.values(), k);
    means.push_back(c.of_batch && c.count() ? m.mean : dice.real(-1, 1));
    rstds.push_back(c.of_batch && c.count() ? 1 / std::sqrt(m.var + c.eps) : dice.real(0.3, 3));
  }
  const Array mean(acc, means, dice), rstd(acc, rstds, dice);
  const Slopes want =
      slopes_of(c, x.values(), dy.values(), mean.values(), rstd.values(), w.values());
  const bool want_dx = !dice.one_in(4), want_dw = !dice.one_in(4), want_db = !dice.one_in(4);
  const cpu::Affine affine{c.affine, c.with_weight ? w.data() : nullptr, nullptr};
  return {c.text() + fmt::format(" dx {} dw {} db {}", want_dx, want_dw, want_db),
          with_threads(
              {Array(c.d, x.size(), dice), Array(c.affine, channels, dice),
               Array(c.affine, channels, dice)},
              [&](Arrays& r) {
                const cpu::NormGrads grads{want_dx ? r[0].data() : nullptr,
                                           want_dw ? r[1].data() : nullptr,
                                           want_db ? r[2].data() : nullptr};
                cpu::batch_norm_backward(c.d, x.data(), dy.data(), c.shape, affine, mean.data(),
                                         rstd.data(), c.of_batch, grads);
              },
              [&](const Arrays& r) {
                std::string wrong = want_dx ? differs("dx", r[0], want.dx) : "";
                if (wrong.empty() && want_dw) wrong = differs("dweight", r[1], want.dweight);
                return wrong.empty() && want_db ? differs("dbias", r[2], want.dbias) : wrong;
              })};
}

const Family kFamily("channel", {{"batch_norm", 600, batch_norm},
                                 {"batch_norm_backward", 600, batch_norm_backward}});

}  // namespace
}  // namespace rille::shapes
