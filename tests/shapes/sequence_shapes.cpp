// What runs over sequences: steps of LSTM and GRU with their gradients, rotary positions, distances
// of all pairs of rows, and CTC against the sum over all alignments of a short sequence.
#include <limits>

#include "core/fail.h"
#include "cpu/ctc.h"
#include "cpu/distance.h"
#include "cpu/recurrent.h"
#include "cpu/rotary.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// All values are near 1: roundings of that, times how many there are.
struct Results {
  DType d;
  std::vector<const char*> names;
  std::vector<Wants> wants;
  Results(DType dtype, std::vector<const char*> n, const std::vector<int64_t>& sizes)
      : d(dtype), names(std::move(n)) {
    for (const int64_t s : sizes) wants.emplace_back(at(s), Want{0});
  }
  void set(size_t which, int64_t place, double v) {
    wants[which][at(place)] = rounded(d, v, 40, 4);
  }
  Arrays blank(Dice& dice) const {
    Arrays a;
    for (const Wants& w : wants) a.emplace_back(d, static_cast<int64_t>(w.size()), dice);
    return a;
  }
  std::string judge(const Arrays& got) const {
    std::string wrong;
    for (size_t i = 0; i < wants.size() && wrong.empty(); ++i)
      wrong = differs(names[i], got[i], wants[i]);
    return wrong;
  }
};

Outcome lstm(Dice& dice) {
  const DType d = dice.float_type();
  const int64_t hidden = dice.size_from_1(300),
                rows = dice.size(std::max<int64_t>(1, 12000 / hidden));
  const Array gates(d, dice.values(rows * 4 * hidden), dice),
      c(d, dice.values(rows * hidden), dice), dh(d, dice.values(rows * hidden, -1, 1), dice),
      dc(d, dice.values(rows * hidden, -1, 1), dice);
  const Values gs = gates.values(), cs = c.values(), dhs = dh.values(), dcs = dc.values();
  Results r(d, {"h", "c", "dgates", "dc"},
            {rows * hidden, rows * hidden, rows * 4 * hidden, rows * hidden});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < hidden; ++k) {
      const int64_t e = row * hidden + k, g0 = row * 4 * hidden + k;
      const double i = sigmoid(gs[at(g0)]), f = sigmoid(gs[at(g0 + hidden)]),
                   g = std::tanh(gs[at(g0 + 2 * hidden)]), o = sigmoid(gs[at(g0 + 3 * hidden)]);
      const double cell = f * cs[at(e)] + i * g, said = std::tanh(cell);
      const double dcell = dcs[at(e)] + dhs[at(e)] * o * (1 - said * said);
      r.set(0, e, o * said), r.set(1, e, cell), r.set(3, e, dcell * f);
      r.set(2, g0, dcell * g * i * (1 - i));
      r.set(2, g0 + hidden, dcell * cs[at(e)] * f * (1 - f));
      r.set(2, g0 + 2 * hidden, dcell * i * (1 - g * g));
      r.set(2, g0 + 3 * hidden, dhs[at(e)] * said * o * (1 - o));
    }
  const cpu::LstmStep step{rows, hidden, gates.data(), c.data()};
  return {fmt::format("{} rows {} hidden {}", name(d), rows, hidden),
          with_threads(
              r.blank(dice),
              [&](Arrays& out) {
                cpu::lstm_step(d, step, out[0].data(), out[1].data());
                cpu::lstm_step_backward(d, step, dh.data(), dc.data(), out[2].data(),
                                        out[3].data());
              },
              [&](const Arrays& out) { return r.judge(out); })};
}

Outcome gru(Dice& dice) {
  const DType d = dice.float_type();
  const int64_t hidden = dice.size_from_1(300),
                rows = dice.size(std::max<int64_t>(1, 12000 / hidden));
  const Array x(d, dice.values(rows * 3 * hidden, -1, 1), dice),
      s(d, dice.values(rows * 3 * hidden, -1, 1), dice), h(d, dice.values(rows * hidden), dice),
      dnext(d, dice.values(rows * hidden, -1, 1), dice);
  const Values xs = x.values(), ss = s.values(), hs = h.values(), ds = dnext.values();
  Results w(d, {"h", "dx", "dh gates", "dh"},
            {rows * hidden, rows * 3 * hidden, rows * 3 * hidden, rows * hidden});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < hidden; ++k) {
      const int64_t e = row * hidden + k, g0 = row * 3 * hidden + k, g1 = g0 + hidden,
                    g2 = g1 + hidden;
      const double r = sigmoid(xs[at(g0)] + ss[at(g0)]), z = sigmoid(xs[at(g1)] + ss[at(g1)]);
      const double n = std::tanh(xs[at(g2)] + r * ss[at(g2)]), dy = ds[at(e)];
      const double dn = dy * (1 - z) * (1 - n * n), dz = dy * (hs[at(e)] - n) * z * (1 - z),
                   dr = dn * ss[at(g2)] * r * (1 - r);
      w.set(0, e, n + z * (hs[at(e)] - n)), w.set(3, e, dy * z);
      w.set(1, g0, dr), w.set(1, g1, dz), w.set(1, g2, dn);
      w.set(2, g0, dr), w.set(2, g1, dz), w.set(2, g2, dn * r);
    }
  const cpu::GruStep step{rows, hidden, x.data(), s.data(), h.data()};
  return {fmt::format("{} rows {} hidden {}", name(d), rows, hidden),
          with_threads(
              w.blank(dice),
              [&](Arrays& out) {
                cpu::gru_step(d, step, out[0].data());
                cpu::gru_step_backward(d, step, dnext.data(), out[1].data(), out[2].data(),
                                       out[3].data());
              },
              [&](const Arrays& out) { return w.judge(out); })};
}

Outcome rotary(Dice& dice) {
  const DType d = dice.float_type(), acc = accumulator(d);
  cpu::Rotary r{};
  r.width = dice.size_from_1(200), r.turned = dice.between(0, r.width / 2) * 2;
  r.places = dice.size_from_1(100), r.rows = dice.size(std::max<int64_t>(1, 20000 / r.width));
  r.interleaved = dice.flip();
  const int64_t half = r.turned / 2;
  const Array x(d, dice.values(r.rows * r.width), dice),
      cosine(acc, dice.values(r.places * half, -1, 1), dice),
      sine(acc, dice.values(r.places * half, -1, 1), dice);
  const Values v = x.values(), cs = cosine.values(), ss = sine.values();
  Wants want;
  for (const double e : v) want.push_back({e});
  for (int64_t row = 0; row < r.rows; ++row)
    for (int64_t i = 0; i < half; ++i) {
      const size_t a = at(row * r.width + (r.interleaved ? 2 * i : i)),
                   b = a + at(r.interleaved ? 1 : half), angle = at(row % r.places * half + i);
      want[a] = rounded(d, v[a] * cs[angle] - v[b] * ss[angle], 4, 4);
      want[b] = rounded(d, v[b] * cs[angle] + v[a] * ss[angle], 4, 4);
    }
  return {fmt::format("{} rows {} width {} turned {} places {} interleaved {}", name(d), r.rows,
                      r.width, r.turned, r.places, r.interleaved),
          with_threads(
              {Array(d, r.rows * r.width, dice)},
              [&](Arrays& out) {
                cpu::rotary(d, r, x.data(), cosine.data(), sine.data(), out[0].data());
              },
              [&](const Arrays& out) { return differs("y", out[0], want); })};
}

Outcome distance(Dice& dice) {
  const DType d = dice.any_of({DType::f32, DType::f64});
  const double inf = std::numeric_limits<double>::infinity();
  cpu::Pairs p{};
  p.batch = dice.between(0, 3), p.width = dice.size(60), p.rows_x = dice.size(70),
  p.rows_y = dice.size(70);
  p.p = dice.any_of({2.0, 1.0, 0.0, inf, 3.0, 0.5});
  const Array x(d, dice.values(p.batch * p.rows_x * p.width), dice),
      y(d, dice.values(p.batch * p.rows_y * p.width), dice);
  const Values a = x.values(), b = y.values();
  Wants want;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t i = 0; i < p.rows_x; ++i)
      for (int64_t j = 0; j < p.rows_y; ++j) {
        double sum = 0, largest = 0, count = 0;
        for (int64_t k = 0; k < p.width; ++k) {
          const double e = std::fabs(a[at((n * p.rows_x + i) * p.width + k)] -
                                     b[at((n * p.rows_y + j) * p.width + k)]);
          sum += std::pow(e, p.p), largest = std::max(largest, e), count += e != 0;
        }
        const double v = p.p == 0 ? count : std::isinf(p.p) ? largest : std::pow(sum, 1 / p.p);
        // differences may cancel: off by a rounding of 4 each
        want.push_back(rounded(d, v, (static_cast<double>(p.width) + 20) * 4, 2 + v));
      }
  return {fmt::format("{} batch {} {} x {} width {} p {}", name(d), p.batch, p.rows_x, p.rows_y,
                      p.width, p.p),
          with_threads(
              {Array(d, static_cast<int64_t>(want.size()), dice)},
              [&](Arrays& out) {
                if (d == DType::f64)
                  cpu::pair_distances(p, x.as<double>(), y.as<double>(),
                                      static_cast<double*>(out[0].data()));
                else
                  cpu::pair_distances(p, x.as<float>(), y.as<float>(),
                                      static_cast<float*>(out[0].data()));
              },
              [&](const Arrays& out) { return differs("y", out[0], want); })};
}

// The likelihood by going through every path of classes, and of each (t, class) the share of the
// paths that pass there.
struct Paths {
  double total = 0;
  Values through;
};

Paths all_paths(const cpu::Ctc& c, const Values& x, int64_t n) {
  const int64_t time = c.input_lengths[n], labels = c.target_lengths[n];
  Paths p{0, Values(at(c.time * c.classes))};
  std::vector<int64_t> path(at(time), 0);
  for (;;) {
    std::vector<int64_t> said;
    double weight = 0;
    for (int64_t t = 0; t < time; ++t) {
      const int64_t k = path[at(t)];
      weight += x[at((t * c.batch + n) * c.classes + k)];
      if (k != c.blank && (t == 0 || path[at(t - 1)] != k)) said.push_back(k);
    }
    if (std::equal(said.begin(), said.end(), c.targets + n * c.labels,
                   c.targets + n * c.labels + labels)) {
      p.total += std::exp(weight);
      for (int64_t t = 0; t < time; ++t)
        p.through[at(t * c.classes + path[at(t)])] += std::exp(weight);
    }
    int64_t t = time - 1;
    while (t >= 0 && ++path[at(t)] == c.classes) path[at(t--)] = 0;
    if (t < 0) return p;
  }
}

Outcome ctc(Dice& dice) {
  cpu::Ctc c{};
  c.time = dice.between(1, 5), c.batch = dice.between(1, 6), c.classes = dice.between(2, 4);
  c.labels = dice.between(0, 3), c.blank = dice.between(0, c.classes - 1);
  std::vector<int64_t> targets(at(c.batch * c.labels)), inputs(at(c.batch)), lengths(at(c.batch));
  for (int64_t& t : targets) t = (c.blank + dice.between(1, c.classes - 1)) % c.classes;
  for (int64_t& n : inputs) n = dice.between(1, c.time);
  for (int64_t& n : lengths) n = dice.between(0, c.labels);
  c.targets = targets.data(), c.input_lengths = inputs.data(), c.target_lengths = lengths.data();
  const DType d = DType::f64;
  const int64_t size = c.time * c.batch * c.classes;
  const Array x(d, dice.values(size, -3, -0.1), dice), dloss(d, dice.values(c.batch), dice);
  const Values v = x.values(), scale = dloss.values();
  Wants loss, dx(at(size), {0});
  for (int64_t n = 0; n < c.batch; ++n) {
    const Paths p = all_paths(c, v, n);
    loss.push_back(rounded(d, -std::log(p.total), 200, 10));
    for (int64_t t = 0; t < inputs[at(n)] && p.total > 0; ++t)
      for (int64_t k = 0; k < c.classes; ++k)
        dx[at((t * c.batch + n) * c.classes + k)] =
            rounded(d, -scale[at(n)] * p.through[at(t * c.classes + k)] / p.total, 200, 10);
  }
  return {fmt::format("time {} batch {} classes {} labels {} blank {}", c.time, c.batch, c.classes,
                      c.labels, c.blank),
          with_threads(
              {Array(d, c.batch, dice), Array(d, c.batch * c.time * c.states(), dice),
               Array(d, size, dice)},
              [&](Arrays& r) {
                auto* losses = static_cast<double*>(r[0].data());
                auto* alpha = static_cast<double*>(r[1].data());
                cpu::ctc_forward(c, x.as<double>(), losses, alpha);
                cpu::ctc_backward(c, x.as<double>(), losses, alpha, dloss.as<double>(),
                                  static_cast<double*>(r[2].data()));
              },
              [&](const Arrays& r) {
                const std::string wrong = differs("loss", r[0], loss);
                return wrong.empty() ? differs("dx", r[2], dx) : wrong;
              })};
}

const Family kFamily("sequence", {{"lstm", 120, lstm},
                                  {"gru", 120, gru},
                                  {"rotary", 200, rotary},
                                  {"distance", 200, distance},
                                  {"ctc", 150, ctc}});

}  // namespace
}  // namespace rille::shapes
