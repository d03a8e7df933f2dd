#include "cpu/rows.h"
#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;

namespace {

struct Case {
  int64_t rows, n;
  bool weight, bias, centred;
};

const Case kCases[] = {{3, 7, true, true, true},    {2, 33, false, false, true},
                       {2, 10, true, false, true},  {2, 10, false, true, true},
                       {3, 8, true, false, false},  {2, 17, false, false, false},
                       {70, 500, true, true, true}, {70, 500, true, false, false}};

Values norm_oracle(const Case& c, const Values& x, const Values& w, const Values& b, double eps) {
  Values y(x.size());
  const size_t n = static_cast<size_t>(c.n);
  for (size_t r = 0; r < static_cast<size_t>(c.rows); ++r) {
    double mean = 0, var = 0;
    for (size_t i = 0; c.centred && i < n; ++i) mean += x[r * n + i] / static_cast<double>(c.n);
    for (size_t i = 0; i < n; ++i)
      var += (x[r * n + i] - mean) * (x[r * n + i] - mean) / static_cast<double>(c.n);
    for (size_t i = 0; i < n; ++i)
      y[r * n + i] = (x[r * n + i] - mean) / std::sqrt(var + eps) * (c.weight ? w[i] : 1) +
                     (c.bias ? b[i] : 0);
  }
  return y;
}

struct Out {
  Values y, dx, dw, db;
  std::vector<char> bytes;
};

Out run(const Case& c, DType d, DType affine_type, const Values& xs, const Values& ws,
        const Values& bs, const Values& dys, double eps) {
  const Buffer x(d, xs), w(affine_type, ws), b(affine_type, bs), dy(d, dys);
  Buffer y(d, c.rows * c.n), mean(accumulator(d), c.rows), rstd = mean, dx = y,
                                                           dw(affine_type, c.n), db = dw;
  const cpu::Affine affine{affine_type, c.weight ? w.data() : nullptr, c.bias ? b.data() : nullptr};
  const cpu::NormGrads grads{dx.data(), dw.data(), db.data()};
  if (c.centred) {
    cpu::layer_norm(d, x.data(), affine, eps, y.data(), mean.data(), rstd.data(), c.rows, c.n);
    cpu::layer_norm_backward(d, x.data(), dy.data(), affine, mean.data(), rstd.data(), grads,
                             c.rows, c.n);
  } else {
    cpu::rms_norm(d, x.data(), affine, eps, y.data(), rstd.data(), c.rows, c.n);
    cpu::rms_norm_backward(d, x.data(), dy.data(), affine, rstd.data(), grads, c.rows, c.n);
  }
  Out out{y.values(), dx.values(), dw.values(), db.values(), dx.bytes};
  out.bytes.insert(out.bytes.end(), dw.bytes.begin(), dw.bytes.end());
  out.bytes.insert(out.bytes.end(), db.bytes.begin(), db.bytes.end());
  return out;
}

}  // namespace

TEST_CASE("layer_norm and rms_norm follow their formulas", "[rows]") {
  for (const Case& c : kCases)
    for (const DType d : kFloats)
      for (const DType affine : {d, DType::f32}) {
        const Values x = Buffer(d, spread(c.rows * c.n, 1, -1, 5)).values();
        const Values w = Buffer(affine, spread(c.n, 2)).values();
        const Values b = Buffer(affine, spread(c.n, 3)).values();
        const Out out = run(c, d, affine, x, w, b, x, 1e-5);
        require_close(out.y, norm_oracle(c, x, w, b, 1e-5), 2 * tolerance(d));
      }
}

TEST_CASE("gradients of the normalisations are finite differences", "[rows]") {
  for (const Case& c : kCases) {
    if (c.rows > 3) continue;
    const Values x = spread(c.rows * c.n, 4), w = spread(c.n, 5), b = spread(c.n, 6);
    const Values dy = spread(c.rows * c.n, 7);
    auto loss = [&](const Values& x_, const Values& w_, const Values& b_) {
      return dot(norm_oracle(c, x_, w_, b_, 1e-5), dy);
    };
    const Values dx = slopes([&](const Values& v) { return loss(v, w, b); }, x);
    for (const DType d : kFloats) {
      const Out out = run(c, d, d, x, w, b, dy, 1e-5);
      const double tol = d == DType::f64 ? 1e-7 : 8 * tolerance(d);
      require_close(out.dx, dx, tol);
      if (c.weight)
        require_close(out.dw, slopes([&](const Values& v) { return loss(x, v, b); }, w), tol);
      if (c.bias)
        require_close(out.db, slopes([&](const Values& v) { return loss(x, w, v); }, b), tol);
    }
  }
}

TEST_CASE("sums over many rows do not depend on the number of threads", "[rows]") {
  const Case c{700, 130, true, true, true};
  const Values x = spread(c.rows * c.n, 8), w = spread(c.n, 9), b = spread(c.n, 10);
  require_same_bits([&] { return run(c, DType::f32, DType::f32, x, w, b, x, 1e-5).bytes; });
  const Out wide = run(c, DType::f64, DType::f64, x, w, b, x, 1e-5);
  const Out narrow = run(c, DType::f32, DType::f32, x, w, b, x, 1e-5);
  require_close(narrow.dw, wide.dw, 1e-5);
  require_close(narrow.db, wide.db, 1e-5);
}

TEST_CASE("a nan stays in its row", "[rows]") {
  const Case c{2, 4, false, false, true};
  Values x = spread(8, 11);
  x[1] = std::nan("");
  const Out out = run(c, DType::f32, DType::f32, x, {}, {}, x, 1e-5);
  for (size_t i = 0; i < 8; ++i) CHECK(std::isnan(out.y[i]) == (i < 4));
}

TEST_CASE("no rows: the sums are zero", "[rows]") {
  const Case c{0, 4, true, true, true};
  const Out out = run(c, DType::f32, DType::f32, {}, spread(4, 1), spread(4, 2), {}, 1e-5);
  CHECK(out.dw == Values(4, 0));
  CHECK(out.db == Values(4, 0));
}
