#include <limits>

#include "cpu/rows.h"
#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;
using cpu::Axis;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

size_t at(Axis a, int64_t outer, int64_t i, int64_t inner) {
  return static_cast<size_t>((outer * a.n + i) * a.inner + inner);
}

Values softmax_oracle(const Values& x, Axis a, bool log) {
  Values y(x.size());
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < a.inner; ++k) {
      double m = -kInf, sum = 0;
      for (int64_t i = 0; i < a.n; ++i) m = std::max(m, x[at(a, o, i, k)]);
      for (int64_t i = 0; i < a.n; ++i) sum += std::exp(x[at(a, o, i, k)] - m);
      for (int64_t i = 0; i < a.n; ++i) {
        const double z = x[at(a, o, i, k)] - m - std::log(sum);
        y[at(a, o, i, k)] = log ? z : std::exp(z);
      }
    }
  return y;
}

using Forward = void (*)(DType, const void*, void*, Axis);
using Backward = void (*)(DType, const void*, const void*, void*, Axis);

Values run(Forward f, DType d, const Values& x, Axis a) {
  Buffer in(d, x);
  f(d, in.data(), in.data(), a);  // in place, as the header allows
  return in.values();
}

}  // namespace

TEST_CASE("softmax and log_softmax follow their formulas", "[rows]") {
  for (const Axis a :
       {Axis{3, 7}, Axis{2, 1000}, Axis{2, 5, 3}, Axis{1, 1}, Axis{4, 64, 17}, Axis{2, 3, 150}})
    for (const DType d : kFloats) {
      const Values x = Buffer(d, spread(a.outer * a.n * a.inner, 1, -9, 9)).values();
      require_close(run(cpu::softmax, d, x, a), softmax_oracle(x, a, false), tolerance(d));
      require_close(run(cpu::log_softmax, d, x, a), softmax_oracle(x, a, true), tolerance(d));
    }
}

TEST_CASE("softmax keeps to the edges of the range", "[rows]") {
  const Axis row{1, 4};
  CHECK(run(cpu::softmax, DType::f32, {1e30, -1e30, 1e30, -kInf}, row) == Values{.5, 0, .5, 0});
  for (const double bad : {kNan, kInf})
    for (const double y : run(cpu::softmax, DType::f32, {1, bad, 2, 3}, row))
      CHECK((std::isnan(y) || y == 0));
  for (const double y : run(cpu::log_softmax, DType::f64, {1, kNan, 2, 3}, row))
    CHECK(std::isnan(y));
}

TEST_CASE("logsumexp of rows", "[rows]") {
  auto lse = [](const Values& x) {
    Buffer in(DType::f64, x), out(DType::f64, 1);
    cpu::logsumexp(DType::f64, in.data(), out.data(), {1, static_cast<int64_t>(x.size())});
    return out.values()[0];
  };
  CHECK(lse({1000, 1000}) == Approx(1000 + std::log(2.0)));
  CHECK(lse({-kInf, -kInf}) == -kInf);
  CHECK(lse({-kInf, kInf, 3}) == kInf);
  CHECK(lse({}) == -kInf);
  CHECK(std::isnan(lse({1, kNan})));
  CHECK(std::isnan(lse({-kInf, kNan})));
}

TEST_CASE("logsumexp over columns", "[rows]") {
  for (const DType d : kFloats) {
    Buffer in(d, Values{0, 1, -kInf, kInf, 1000, kNan, 0, 3, -kInf, -kInf, 1000, -kInf});
    Buffer out(d, 6);
    cpu::logsumexp(d, in.data(), out.data(), {1, 2, 6});
    require_close(out.values(),
                  {std::log(2.0), std::log(std::exp(1) + std::exp(3)), -kInf, kInf,
                   1000 + std::log(2.0), kNan},
                  tolerance(d));
  }
}

TEST_CASE("softmax gradients are finite differences", "[rows]") {
  const Axis a{2, 5, 3};
  const Values x = spread(30, 2), dy = spread(30, 3);
  struct {
    Forward forward;
    Backward backward;
  } const both[] = {{cpu::softmax, cpu::softmax_backward},
                    {cpu::log_softmax, cpu::log_softmax_backward}};
  for (const auto& f : both)
    for (const DType d : kFloats) {
      const Values want =
          slopes([&](const Values& v) { return dot(run(f.forward, DType::f64, v, a), dy); }, x);
      Buffer y(d, run(f.forward, DType::f64, x, a)), dx(d, dy);
      f.backward(d, y.data(), dx.data(), dx.data(), a);
      require_close(dx.values(), want, d == DType::f64 ? 1e-8 : 4 * tolerance(d));
    }
}

TEST_CASE("softmax gives the same bits for any number of threads", "[rows]") {
  const Axis a{500, 300};
  const Buffer x(DType::f32, spread(a.outer * a.n, 4));
  require_same_bits([&] {
    Buffer y(DType::f32, a.outer * a.n), dx = y;
    cpu::softmax(DType::f32, x.data(), y.data(), a);
    cpu::softmax_backward(DType::f32, y.data(), x.data(), dx.data(), a);
    return dx.bytes;
  });
}
