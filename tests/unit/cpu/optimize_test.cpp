#include "cpu/optimize.h"

#include <limits>

#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;
using cpu::Adam;
using cpu::Sgd;
using cpu::StepTensor;

namespace {

constexpr int kSteps = 4;
const int64_t kSizes[] = {5, 40000, 1};  // the second is more than one chunk

Values gradient(size_t tensor, int step) {
  return spread(kSizes[tensor], 10 * tensor + static_cast<size_t>(step), -1, 1);
}

// Three tensors through four steps; `take` performs one of them.
template <class Take>
std::vector<Values> trained(DType d, DType grad_dtype, bool master, Take take) {
  const DType acc = accumulator(d);
  std::vector<Buffer> params, grads, states, masters;
  for (size_t i = 0; i < 3; ++i) {
    params.emplace_back(d, spread(kSizes[i], i + 1));
    masters.emplace_back(acc, params[i].values());
    for (int s = 0; s < 3; ++s) states.emplace_back(acc, kSizes[i]);
  }
  for (int t = 1; t <= kSteps; ++t) {
    grads.clear();
    for (size_t i = 0; i < 3; ++i) grads.emplace_back(grad_dtype, gradient(i, t));
    std::vector<StepTensor> list;
    for (size_t i = 0; i < 3; ++i)
      list.push_back({d,
                      params[i].data(),
                      grad_dtype,
                      grads[i].data(),
                      kSizes[i],
                      {states[3 * i].data(), states[3 * i + 1].data(), states[3 * i + 2].data()},
                      master ? static_cast<float*>(masters[i].data()) : nullptr,
                      t});
    take(list);
  }
  std::vector<Values> out;
  for (const Buffer& p : params) out.push_back(p.values());
  return out;
}

Values sgd_oracle(size_t tensor, const Sgd& o) {
  Values w = spread(kSizes[tensor], tensor + 1), b(w.size());
  for (int t = 1; t <= kSteps; ++t) {
    const Values grad = gradient(tensor, t);
    for (size_t i = 0; i < w.size(); ++i) {
      double g = o.scale * grad[i] * (o.maximize ? -1 : 1) + o.weight_decay * w[i];
      if (o.momentum != 0) {
        b[i] = t == 1 ? g : o.momentum * b[i] + (1 - o.dampening) * g;
        g = o.nesterov ? g + o.momentum * b[i] : b[i];
      }
      w[i] -= o.lr * g;
    }
  }
  return w;
}

Values adam_oracle(size_t tensor, const Adam& o) {
  Values w = spread(kSizes[tensor], tensor + 1), m(w.size()), v = m, most = m;
  for (int t = 1; t <= kSteps; ++t) {
    const Values grad = gradient(tensor, t);
    for (size_t i = 0; i < w.size(); ++i) {
      double g = o.scale * grad[i] * (o.maximize ? -1 : 1);
      if (o.decoupled)
        w[i] *= 1 - o.lr * o.weight_decay;
      else
        g += o.weight_decay * w[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      most[i] = std::max(most[i], v[i]);
      const double u = std::sqrt(o.amsgrad ? most[i] : v[i]) / std::sqrt(1 - std::pow(o.beta2, t));
      w[i] -= o.lr * (m[i] / (1 - std::pow(o.beta1, t))) / (u + o.eps);
    }
  }
  return w;
}

const Sgd kSgd[] = {
    {.1}, {.1, .9}, {.1, .9, .5, .01}, {.1, .9, 0, .1, true}, {.1, .5, 0, 0, false, true, .25}};
const Adam kAdam[] = {{.1},
                      {.01, .8, .95, 1e-6, .1},
                      {.01, .9, .99, 1e-8, .1, true},
                      {.1, .5, .5, 1e-8, 0, false, true},
                      {.1, .9, .999, 1e-8, .1, true, true, true, .5}};

}  // namespace

TEST_CASE("sgd follows its formula", "[optimize]") {
  for (const Sgd& o : kSgd)
    for (const DType d : {DType::f64, DType::f32}) {
      const auto got = trained(d, d, false, [&](auto& list) { cpu::sgd_step(list, o); });
      for (size_t i = 0; i < 3; ++i)
        require_close(got[i], sgd_oracle(i, o), d == DType::f64 ? 1e-12 : 2e-6);
    }
}

TEST_CASE("adam and adamw follow their formula", "[optimize]") {
  for (const Adam& o : kAdam)
    for (const DType d : {DType::f64, DType::f32}) {
      const auto got = trained(d, d, false, [&](auto& list) { cpu::adam_step(list, o); });
      for (size_t i = 0; i < 3; ++i)
        require_close(got[i], adam_oracle(i, o), d == DType::f64 ? 1e-10 : 1e-4);
    }
}

TEST_CASE("16-bit weights with masters end where f32 does, rounded", "[optimize]") {
  for (const DType d : {DType::bf16, DType::f16}) {
    const auto sgd = trained(d, d, true, [&](auto& l) { cpu::sgd_step(l, kSgd[1]); });
    const auto adam = trained(d, DType::f32, true, [&](auto& l) { cpu::adam_step(l, kAdam[2]); });
    for (size_t i = 0; i < 3; ++i) {
      require_close(sgd[i], sgd_oracle(i, kSgd[1]), 2 * tolerance(d));
      require_close(adam[i], adam_oracle(i, kAdam[2]), 2 * tolerance(d));
    }
  }
}

TEST_CASE("small updates are lost without a master, and kept with one", "[optimize]") {
  for (const bool master : {false, true}) {
    Buffer w(DType::f16, Values{1}), g(DType::f16, Values{1});
    float copy = 1;
    for (int t = 1; t <= 100; ++t) {
      const StepTensor one{
          DType::f16, w.data(), DType::f16, g.data(), 1, {}, master ? &copy : nullptr, t};
      cpu::sgd_step({&one, 1}, {1e-4});
    }
    CHECK(w.values()[0] == Approx(master ? .990 : 1).epsilon(1e-3));
  }
}

TEST_CASE("norms and scaling", "[optimize]") {
  float three = 3;
  double four = 4;
  const cpu::Span both[] = {{DType::f32, &three, 1}, {DType::f64, &four, 1}};
  CHECK(cpu::l2_norm(both) == 5);
  CHECK(cpu::l2_norm({}) == 0);
  CHECK(cpu::scale_all(both, 0.5));
  CHECK((three == 1.5f && four == 2));
  for (const DType d : kFloats) {
    Buffer x(d, spread(100000, 1));
    const Values xs = x.values();
    const cpu::Span span{d, x.data(), 100000};
    CHECK(cpu::square_sums({&span, 1})[0] == Approx(dot(xs, xs)));
    CHECK(cpu::scale_all({&span, 1}, 2));
    require_close(x.values(),
                  Buffer(d,
                         [&] {
                           Values doubled = xs;
                           for (double& v : doubled) v *= 2;
                           return doubled;
                         }())
                      .values(),
                  0);
  }
  const double inf = std::numeric_limits<double>::infinity();
  Buffer bad(DType::f32, Values{1, inf, 2}), large(DType::f16, Values{60000});
  const cpu::Span bad_span{DType::f32, bad.data(), 3}, large_span{DType::f16, large.data(), 1};
  CHECK_FALSE(cpu::scale_all({&bad_span, 1}, 1));
  CHECK_FALSE(cpu::scale_all({&large_span, 1}, 2));
  CHECK(cpu::l2_norm({&bad_span, 1}) == inf);
  Buffer huge(DType::f32, Values(10, 1e30));
  const cpu::Span huge_span{DType::f32, huge.data(), 10};
  CHECK(cpu::l2_norm({&huge_span, 1}) == Approx(std::sqrt(10.0) * 1e30));
}

TEST_CASE("steps and norms have the same bits for any number of threads", "[optimize]") {
  require_same_bits([] {
    const auto w =
        trained(DType::f32, DType::f32, false, [](auto& list) { cpu::adam_step(list, kAdam[1]); });
    Buffer x(DType::f32, w[1]);
    const cpu::Span span{DType::f32, x.data(), kSizes[1]};
    const double norm = cpu::l2_norm({&span, 1});
    std::vector<char> bytes = x.bytes;
    bytes.insert(bytes.end(), reinterpret_cast<const char*>(&norm),
                 reinterpret_cast<const char*>(&norm) + sizeof norm);
    return bytes;
  });
}
