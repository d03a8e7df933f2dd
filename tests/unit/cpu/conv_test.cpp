// Convolutions against the sum they are defined by, in double; gradients against its transposes.
#include "cpu/conv.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/half.h"
#include "core/threads.h"

using namespace rille;
using namespace rille::cpu;

namespace {

constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::backward_data,
                                ConvPass::backward_weights};

/// Restores the number of threads at the end of a test.
struct ThreadCount {
  int before = threads();
  ~ThreadCount() { set_threads(before); }
};

int64_t product(const int64_t* sizes, int dims) {
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) n *= sizes[d];
  return n;
}
size_t size_x(const Conv& c) {
  return static_cast<size_t>(c.batch * c.in_channels * product(c.in, c.dims));
}
size_t size_w(const Conv& c) {
  return static_cast<size_t>(c.out_channels * (c.in_channels / c.groups) *
                             product(c.kernel, c.dims));
}
size_t size_y(const Conv& c) {
  return static_cast<size_t>(c.batch * c.out_channels * product(c.out, c.dims));
}

/// Calls f(x index, w index, y index) for every product that the definition sums.
template <class F>
void each_product(const Conv& c, F&& f) {
  const int64_t channels = c.in_channels / c.groups, outputs = c.out_channels / c.groups;
  const int64_t positions = product(c.out, c.dims), taps = product(c.kernel, c.dims);
  const int64_t image = product(c.in, c.dims);
  for (int64_t t = 0; t < positions; ++t)
    for (int64_t k = 0; k < taps; ++k) {
      int64_t rest_t = t, rest_k = k, at = 0, scale = 1;
      bool inside = true;
      for (int d = c.dims - 1; d >= 0; --d) {
        const int64_t i =
            rest_t % c.out[d] * c.stride[d] + rest_k % c.kernel[d] * c.dilation[d] - c.pad_begin[d];
        inside = inside && i >= 0 && i < c.in[d];
        at += i * scale, scale *= c.in[d], rest_t /= c.out[d], rest_k /= c.kernel[d];
      }
      if (!inside) continue;
      for (int64_t b = 0; b < c.batch; ++b)
        for (int64_t o = 0; o < c.out_channels; ++o)
          for (int64_t i = 0; i < channels; ++i)
            f(static_cast<size_t>((b * c.in_channels + o / outputs * channels + i) * image + at),
              static_cast<size_t>((o * channels + i) * taps + k),
              static_cast<size_t>((b * c.out_channels + o) * positions + t));
    }
}

template <class T>
std::vector<T> values(size_t n, std::mt19937& rng) {
  std::vector<T> v(n);
  for (T& x : v) {
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(rng() * 0x9e3779b97f4a7c15u);
    else
      x = T(std::uniform_real_distribution<float>(-1, 1)(rng));
  }
  return v;
}

Conv random_conv(std::mt19937& rng) {
  const auto pick = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(rng() % static_cast<uint64_t>(to - from + 1));
  };
  Conv c;
  c.dims = static_cast<int>(pick(1, 3));
  c.batch = pick(1, 3);
  c.groups = pick(1, 3);
  c.in_channels = c.groups * pick(1, 5);
  c.out_channels = c.groups * pick(1, 6);
  for (int d = 0; d < c.dims; ++d) {
    c.kernel[d] = pick(1, 4), c.stride[d] = pick(1, 3), c.dilation[d] = pick(1, 2);
    c.pad_begin[d] = pick(0, 2), c.pad_end[d] = pick(0, 2);
    const int64_t least =
        std::max<int64_t>(1, c.dilation[d] * (c.kernel[d] - 1) + 1 - c.pad_begin[d] - c.pad_end[d]);
    c.in[d] = least + pick(0, c.dims == 1 ? 40 : 6);
    c.out[d] =
        conv_out(c.in[d], c.kernel[d], c.stride[d], c.dilation[d], c.pad_begin[d], c.pad_end[d]);
  }
  return c;
}

std::string describe(const Conv& c, ConvPass pass, DType dtype, bool builtin) {
  std::string s = "pass " + std::to_string(static_cast<int>(pass)) + " " +
                  std::string(name(dtype)) + (builtin ? " builtin" : "") + " batch " +
                  std::to_string(c.batch) + " channels " + std::to_string(c.in_channels) + "->" +
                  std::to_string(c.out_channels) + " groups " + std::to_string(c.groups);
  for (int d = 0; d < c.dims; ++d)
    s += "; " + std::to_string(c.in[d]) + " k" + std::to_string(c.kernel[d]) + " s" +
         std::to_string(c.stride[d]) + " d" + std::to_string(c.dilation[d]) + " p" +
         std::to_string(c.pad_begin[d]) + "," + std::to_string(c.pad_end[d]) + " -> " +
         std::to_string(c.out[d]);
  return s;
}

/// What the definition gives, and the sum of magnitudes that bounds the error.
struct Expected {
  std::vector<double> value, magnitude;
};

template <class T>
Expected expect(ConvPass pass, const Conv& c, const std::vector<T>& first,
                const std::vector<T>& second, const std::vector<T>* bias) {
  const size_t n = pass == ConvPass::forward         ? size_y(c)
                   : pass == ConvPass::backward_data ? size_x(c)
                                                     : size_w(c);
  Expected e{std::vector<double>(n), std::vector<double>(n)};
  const auto add = [&](size_t to, size_t a, size_t b) {
    const double term = static_cast<double>(first[a]) * static_cast<double>(second[b]);
    e.value[to] += term, e.magnitude[to] += std::abs(term);
  };
  each_product(c, [&](size_t x, size_t w, size_t y) {
    if (pass == ConvPass::forward) add(y, x, w);
    if (pass == ConvPass::backward_data) add(x, y, w);
    if (pass == ConvPass::backward_weights) add(w, x, y);
  });
  if (bias) {
    const size_t channels = bias->size(), each = n / (static_cast<size_t>(c.batch) * channels);
    for (size_t i = 0; i < n; ++i) {
      const double b = static_cast<double>((*bias)[i / each % channels]);
      e.value[i] += b, e.magnitude[i] += std::abs(b);
    }
  }
  return e;
}

void call(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
          void* result, const void* bias, bool builtin) {
  if (builtin) return conv_builtin(pass, dtype, c, first, second, result, bias);
  if (pass == ConvPass::forward) return conv_forward(dtype, c, first, second, result, bias);
  if (pass == ConvPass::backward_data)
    return conv_backward_data(dtype, c, first, second, result, bias);
  conv_backward_weights(dtype, c, first, second, result);
}

template <class T>
void check_pass(ConvPass pass, DType dtype, const Conv& c, bool builtin, unsigned seed) {
  std::mt19937 rng(seed);
  const ThreadCount restored;
  const bool forward = pass == ConvPass::forward, weights = pass == ConvPass::backward_weights;
  const auto first = values<T>(forward || weights ? size_x(c) : size_y(c), rng);
  const auto second = values<T>(weights ? size_y(c) : size_w(c), rng);
  const auto bias = values<T>(static_cast<size_t>(forward ? c.out_channels : c.in_channels), rng);
  const bool with_bias = !weights && seed % 2 == 0;
  const Expected e = expect(pass, c, first, second, with_bias ? &bias : nullptr);
  std::vector<T> one(e.value.size(), T(77.f)), two = one, again = one;
  const auto run = [&](std::vector<T>& out, int count) {
    set_threads(count);
    call(pass, dtype, c, first.data(), second.data(), out.data(), with_bias ? bias.data() : nullptr,
         builtin);
  };
  run(one, 1), run(two, 2), run(again, 2);
  INFO(describe(c, pass, dtype, builtin) << " bias " << with_bias);
  const double unit = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;
  const double rounding = dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : 0;
  const double terms = 3 + static_cast<double>(weights ? size_y(c) : size_w(c));
  double worst = 0;
  for (const auto* got : {&one, &two})
    for (size_t i = 0; i < got->size(); ++i) {
      const double allowed = e.magnitude[i] * unit * terms + std::abs(e.value[i]) * rounding +
                             (rounding > 0 ? 1e-7 : 0);
      const double error = std::abs(static_cast<double>((*got)[i]) - e.value[i]);
      if (!(error <= allowed)) worst = std::max(worst, error > 0 ? error : 1e9);
    }
  CHECK(worst == 0);
  CHECK(std::memcmp(two.data(), again.data(), two.size() * sizeof(T)) == 0);
  if (builtin) CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(T)) == 0);
}

void check_all(const Conv& c, unsigned seed) {
  for (ConvPass pass : kPasses)
    for (bool builtin : {false, true}) {
      check_pass<float>(pass, DType::f32, c, builtin, seed);
      check_pass<double>(pass, DType::f64, c, builtin, seed);
      check_pass<bf16>(pass, DType::bf16, c, builtin, seed);
      check_pass<f16>(pass, DType::f16, c, builtin, seed);
    }
}

}  // namespace

TEST_CASE("conv: random geometries", "[cpu][conv]") {
  std::mt19937 rng(17);
  for (unsigned round = 0; round < 60; ++round) check_all(random_conv(rng), round);
}

TEST_CASE("conv: typical layers", "[cpu][conv]") {
  Conv c;
  c.batch = 2, c.in_channels = 3, c.out_channels = 16;
  for (int d = 0; d < 2; ++d)
    c.in[d] = 18, c.kernel[d] = 3, c.pad_begin[d] = c.pad_end[d] = 1, c.out[d] = 18;
  check_all(c, 2);
  c.in_channels = 16, c.groups = 16;  // depthwise
  check_all(c, 3);
  c.groups = 1, c.out_channels = 40;
  for (int d = 0; d < 2; ++d) c.kernel[d] = 1, c.pad_begin[d] = c.pad_end[d] = 0;  // pointwise
  check_all(c, 4);
  for (int d = 0; d < 2; ++d) c.stride[d] = 2, c.out[d] = 9;
  check_all(c, 5);
}

TEST_CASE("conv: more positions than one piece of columns", "[cpu][conv]") {
  Conv c;
  c.dims = 1, c.batch = 1, c.in_channels = 5, c.out_channels = 4;
  c.in[0] = 30000, c.kernel[0] = 7, c.stride[0] = 2, c.pad_begin[0] = 3, c.pad_end[0] = 4;
  c.out[0] = conv_out(30000, 7, 2, 1, 3, 4);
  for (ConvPass pass : kPasses)
    for (bool builtin : {false, true}) check_pass<float>(pass, DType::f32, c, builtin, 1);
}

TEST_CASE("conv: transposed with output padding", "[cpu][conv]") {
  // What PyTorch calls conv_transpose2d(stride=3, output_padding=2): the input of the forward map
  // has rows and columns that no output reaches.
  Conv c;
  c.batch = 2, c.in_channels = 4, c.out_channels = 6;
  for (int d = 0; d < 2; ++d) {
    c.out[d] = 5, c.stride[d] = 3, c.kernel[d] = 2, c.pad_begin[d] = c.pad_end[d] = 0;
    c.in[d] = (5 - 1) * 3 + 2 + 2;
  }
  check_all(c, 8);
  for (int d = 0; d < 2; ++d) c.pad_begin[d] = c.pad_end[d] = 1, c.in[d] -= 2;
  check_all(c, 9);
}

TEST_CASE("conv: integers wrap", "[cpu][conv]") {
  std::mt19937 rng(23);
  for (int round = 0; round < 20; ++round) {
    const Conv c = random_conv(rng);
    const auto x = values<int64_t>(size_x(c), rng), w = values<int64_t>(size_w(c), rng);
    const auto y = values<int64_t>(size_y(c), rng);
    std::vector<uint64_t> sy(y.size()), sx(x.size()), sw(w.size());
    each_product(c, [&](size_t ix, size_t iw, size_t iy) {
      sy[iy] += static_cast<uint64_t>(x[ix]) * static_cast<uint64_t>(w[iw]);
      sx[ix] += static_cast<uint64_t>(y[iy]) * static_cast<uint64_t>(w[iw]);
      sw[iw] += static_cast<uint64_t>(y[iy]) * static_cast<uint64_t>(x[ix]);
    });
    std::vector<int64_t> out_y(y.size()), out_x(x.size()), out_w(w.size());
    conv_forward(DType::i64, c, x.data(), w.data(), out_y.data());
    conv_backward_data(DType::i64, c, y.data(), w.data(), out_x.data());
    conv_backward_weights(DType::i64, c, x.data(), y.data(), out_w.data());
    CHECK(std::memcmp(out_y.data(), sy.data(), sy.size() * 8) == 0);
    CHECK(std::memcmp(out_x.data(), sx.data(), sx.size() * 8) == 0);
    CHECK(std::memcmp(out_w.data(), sw.data(), sw.size() * 8) == 0);
  }
}

TEST_CASE("conv: nan stays under its window", "[cpu][conv]") {
  Conv c;
  c.in_channels = 3, c.out_channels = 20;
  for (int d = 0; d < 2; ++d)
    c.in[d] = c.out[d] = 12, c.kernel[d] = 3, c.pad_begin[d] = c.pad_end[d] = 1;
  std::vector<float> x(size_x(c), 1.f), w(size_w(c), 1.f), y(size_y(c));
  x[5 * 12 + 7] = std::nanf("");
  for (bool builtin : {false, true}) {
    call(ConvPass::forward, DType::f32, c, x.data(), w.data(), y.data(), nullptr, builtin);
    for (size_t o = 0; o < 20; ++o)
      for (size_t i = 0; i < 12; ++i)
        for (size_t j = 0; j < 12; ++j) {
          const bool near = i >= 4 && i <= 6 && j >= 6 && j <= 8;
          if (std::isnan(y[(o * 12 + i) * 12 + j]) != near)
            FAIL("builtin " << builtin << " at " << o << " " << i << " " << j);
        }
  }
}

TEST_CASE("conv: nothing in the batch", "[cpu][conv]") {
  Conv c;
  c.batch = 0, c.in_channels = 2, c.out_channels = 3;
  for (int d = 0; d < 2; ++d) c.in[d] = c.out[d] = 4;
  std::vector<float> dw(size_w(c), 5.f);
  conv_backward_weights(DType::f32, c, nullptr, nullptr, dw.data());
  CHECK(dw == std::vector<float>(size_w(c), 0.f));
  CHECK_THROWS_AS(conv_forward(DType::boolean, c, nullptr, nullptr, nullptr), Error);
}
