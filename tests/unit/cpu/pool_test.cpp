// Pooling against PyTorch's values for the awkward cases, and against plain loops for the rest.
#include "cpu/pool.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/half.h"
#include "core/threads.h"

using namespace rille;
using namespace rille::cpu;

namespace {

int64_t volume(const int64_t* sizes, int dims) {
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) n *= sizes[d];
  return n;
}
size_t size_x(const Pool& p) { return static_cast<size_t>(p.planes * volume(p.in, p.dims)); }
size_t size_y(const Pool& p) { return static_cast<size_t>(p.planes * volume(p.out, p.dims)); }

/// x[i] = (7 i mod 11) - 5 on 5 x 6; kernel 3 x 2, stride 2 x 3, padding 1, ceil mode.
Pool awkward() {
  Pool p;
  p.in[0] = 5, p.in[1] = 6, p.kernel[0] = 3, p.kernel[1] = 2, p.stride[0] = 2, p.stride[1] = 3;
  for (int d = 0; d < 2; ++d) p.pad_begin[d] = p.pad_end[d] = 1, p.out[d] = 3;
  return p;
}
std::vector<float> awkward_x() {
  std::vector<float> x(30);
  for (size_t i = 0; i < 30; ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
  return x;
}

void check_close(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-7));
}

Pool random_pool(std::mt19937& rng) {
  const auto pick = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(rng() % static_cast<uint64_t>(to - from + 1));
  };
  Pool p;
  p.dims = static_cast<int>(pick(1, 3));
  p.planes = pick(1, 7);
  for (int d = 0; d < p.dims; ++d) {
    p.kernel[d] = pick(1, 4), p.stride[d] = pick(1, 3);
    p.pad_begin[d] = p.pad_end[d] = pick(0, p.kernel[d] / 2);
    p.in[d] = p.kernel[d] + pick(0, 7);
    p.out[d] = pool_out(p.in[d], p.kernel[d], p.stride[d], 1, p.pad_begin[d], p.pad_end[d], false);
  }
  return p;
}

/// f(x index, y index) for every element of every window.
template <class F>
void each_pair(const Pool& p, F&& f) {
  const int64_t image = volume(p.in, p.dims), positions = volume(p.out, p.dims);
  const int64_t taps = volume(p.kernel, p.dims);
  for (int64_t plane = 0; plane < p.planes; ++plane)
    for (int64_t t = 0; t < positions; ++t)
      for (int64_t k = 0; k < taps; ++k) {
        int64_t rest_t = t, rest_k = k, at = 0, scale = 1;
        bool inside = true;
        for (int d = p.dims - 1; d >= 0; --d) {
          const int64_t i = rest_t % p.out[d] * p.stride[d] + rest_k % p.kernel[d] * p.dilation[d] -
                            p.pad_begin[d];
          inside = inside && i >= 0 && i < p.in[d];
          at += i * scale, scale *= p.in[d], rest_t /= p.out[d], rest_k /= p.kernel[d];
        }
        if (inside)
          f(static_cast<size_t>(plane * image + at), static_cast<size_t>(plane * positions + t));
      }
}

template <class T>
std::vector<T> values(size_t n, std::mt19937& rng) {
  std::vector<T> v(n);
  for (T& x : v) x = T(static_cast<float>(static_cast<int>(rng() % 401) - 200) / 8);
  return v;
}

}  // namespace

TEST_CASE("pool: output sizes are PyTorch's", "[cpu][pool]") {
  CHECK(pool_out(2, 3, 2, 1, 0, 0, true) == 1);
  CHECK(pool_out(5, 2, 2, 1, 1, 1, true) == 3);
  CHECK(pool_out(7, 3, 2, 2, 1, 1, true) == 3);
  CHECK(pool_out(7, 3, 3, 1, 1, 1, true) == 3);
  CHECK(pool_out(6, 3, 2, 1, 1, 1, false) == 3);
  CHECK(pool_out(4, 3, 3, 1, 1, 1, true) == 2);
  CHECK(pool_out(1, 2, 2, 1, 1, 1, true) == 1);
  CHECK(pool_out(2, 3, 1, 1, 0, 0, false) == 0);
}

TEST_CASE("pool: max with padding, dilation and a window over the end", "[cpu][pool]") {
  Pool p = awkward();
  p.dilation[1] = 2;
  const auto x = awkward_x();
  std::vector<float> y(9);
  std::vector<int64_t> ids(9);
  max_pool(DType::f32, p, x.data(), y.data(), ids.data());
  CHECK(y == std::vector<float>{2, 1, -3, 0, 5, 4, 5, 4, 2});
  CHECK(ids == std::vector<int64_t>{1, 4, 5, 7, 14, 17, 25, 28, 23});
}

TEST_CASE("pool: nan wins, the last one", "[cpu][pool]") {
  Pool p;
  p.in[0] = 5, p.in[1] = 6, p.out[0] = 3, p.out[1] = 4, p.kernel[0] = p.kernel[1] = 3;
  auto x = awkward_x();
  x[7] = x[8] = std::nanf("");
  std::vector<float> y(12);
  std::vector<int64_t> ids(12);
  max_pool(DType::f32, p, x.data(), y.data(), ids.data());
  CHECK(ids == std::vector<int64_t>{8, 8, 8, 3, 8, 8, 8, 17, 14, 14, 14, 17});
  CHECK(std::isnan(y[6]));
  CHECK(y[3] == 5);
}

TEST_CASE("pool: averages with and without padding, with a divisor", "[cpu][pool]") {
  Pool p = awkward();
  const auto x = awkward_x();
  std::vector<float> y(9);
  avg_pool(DType::f32, p, x.data(), y.data());
  check_close(y, {-1.0 / 6, 1.0 / 3, -4.0 / 3, 1, 7.0 / 6, 1.0 / 6, -1.0 / 3, 0, 1.0 / 3});
  p.count_padding = false;
  avg_pool(DType::f32, p, x.data(), y.data());
  check_close(y, {-0.5, 0.5, -4, 2, 7.0 / 6, 1.0 / 3, -1, 0, 1});
  p.divisor = 4;
  avg_pool(DType::f32, p, x.data(), y.data());
  check_close(y, {-0.25, 0.5, -2, 1.5, 1.75, 0.25, -0.5, 0, 0.5});

  p = awkward();
  std::vector<float> dy{1, 2, 3, 4, 5, 6, 7, 8, 9}, dx(30);
  avg_pool_backward(DType::f32, p, dy.data(), dx.data());
  const double a = 1.0 / 6;
  check_close(dx, {1 * a,  0,      2 * a, 2 * a,  0,     3 * a, 5 * a, 0,     7 * a,  7 * a,
                   0,      9 * a,  4 * a, 0,      5 * a, 5 * a, 0,     6 * a, 11 * a, 0,
                   13 * a, 13 * a, 0,     15 * a, 7 * a, 0,     8 * a, 8 * a, 0,      9 * a});
}

TEST_CASE("pool: adaptive windows", "[cpu][pool]") {
  Pool p;
  p.in[0] = 5, p.in[1] = 6, p.out[0] = 3, p.out[1] = 4, p.adaptive = true;
  const auto x = awkward_x();
  std::vector<float> y(12);
  std::vector<int64_t> ids(12);
  avg_pool(DType::f32, p, x.data(), y.data());
  check_close(y, {0.25, -1, 2, -2, 0, -1.0 / 3, -1, -4.0 / 3, -0.25, 1.25, -1.25, 0.25});
  max_pool(DType::f32, p, x.data(), y.data(), ids.data());
  CHECK(y == std::vector<float>{4, 2, 5, 1, 4, 5, 3, 4, 5, 5, 4, 4});
  CHECK(ids == std::vector<int64_t>{6, 1, 3, 4, 6, 14, 9, 17, 25, 25, 28, 28});
}

TEST_CASE("pool: random windows, both ways", "[cpu][pool]") {
  std::mt19937 rng(31);
  const int before = threads();
  for (int round = 0; round < 60; ++round) {
    Pool p = random_pool(rng);
    set_threads(1 + round % 2);
    const auto x = values<double>(size_x(p), rng), dy = values<double>(size_y(p), rng);
    const double low = -std::numeric_limits<double>::infinity();
    std::vector<double> largest(dy.size(), low), sum(dy.size()), y(dy.size());
    std::vector<double> dx(x.size()), spread(x.size());
    const double share = 1 / static_cast<double>(volume(p.kernel, p.dims));
    each_pair(p, [&](size_t i, size_t o) {
      largest[o] = std::max(largest[o], x[i]);
      sum[o] += x[i] * share;
      spread[i] += dy[o] * share;
    });
    std::vector<int64_t> ids(dy.size());
    max_pool(DType::f64, p, x.data(), y.data(), ids.data());
    CHECK(y == largest);
    max_pool_backward(DType::f64, p, dy.data(), ids.data(), dx.data());
    std::vector<double> routed(x.size());
    const size_t image = x.size() / static_cast<size_t>(p.planes);
    const size_t positions = y.size() / static_cast<size_t>(p.planes);
    for (size_t o = 0; o < y.size(); ++o) {
      const size_t i = o / positions * image + static_cast<size_t>(ids[o]);
      CHECK(x[i] == y[o]);
      routed[i] += dy[o];
    }
    CHECK(dx == routed);
    avg_pool(DType::f64, p, x.data(), y.data());
    for (size_t o = 0; o < y.size(); ++o) CHECK(y[o] == Approx(sum[o]).margin(1e-12));
    avg_pool_backward(DType::f64, p, dy.data(), dx.data());
    for (size_t i = 0; i < x.size(); ++i) CHECK(dx[i] == Approx(spread[i]).margin(1e-12));
  }
  set_threads(before);
}

TEST_CASE("pool: 16-bit floats are summed in f32", "[cpu][pool]") {
  Pool p;
  p.dims = 1, p.in[0] = 600, p.kernel[0] = 600, p.out[0] = 1;
  const std::vector<bf16> x(600, bf16(1.f));
  bf16 y[1];
  avg_pool(DType::bf16, p, x.data(), y);
  CHECK(static_cast<float>(y[0]) == 1.f);
  p.in[0] = 3, p.kernel[0] = 2, p.out[0] = 2;
  const std::vector<f16> dy{f16(1.f), f16(3.f)};
  std::vector<f16> dx(3, f16(9.f));
  avg_pool_backward(DType::f16, p, dy.data(), dx.data());
  CHECK(static_cast<float>(dx[0]) == 0.5f);
  CHECK(static_cast<float>(dx[1]) == 2.f);
}

TEST_CASE("pool: integers, and a window in the padding", "[cpu][pool]") {
  Pool p;
  p.dims = 1, p.in[0] = 4, p.kernel[0] = 2, p.out[0] = 3;
  const int32_t x[4] = {-5, 2, 7, 7};
  int32_t y[3];
  int64_t ids[3];
  max_pool(DType::i32, p, x, y, ids);
  CHECK((y[0] == 2 && y[1] == 7 && y[2] == 7 && ids[2] == 2));
  avg_pool(DType::i32, p, x, y);
  CHECK((y[0] == -1 && y[1] == 4 && y[2] == 7));
  p.in[0] = 1, p.pad_begin[0] = p.pad_end[0] = 1, p.dilation[0] = 2, p.out[0] = 1;
  float z[1], dx[1] = {3};
  const float one[1] = {1};
  max_pool(DType::f32, p, one, z, ids);
  CHECK((std::isinf(z[0]) && ids[0] == -1));
  max_pool_backward(DType::f32, p, one, ids, dx);
  CHECK(dx[0] == 0);
  CHECK_THROWS_AS(avg_pool(DType::boolean, p, one, z), Error);
}

TEST_CASE("pool: an average counts the elements of a dilated window, not its length",
          "[cpu][pool]") {
  Pool p;
  p.dims = 1, p.in[0] = 5, p.kernel[0] = 3, p.dilation[0] = 2, p.out[0] = 1;
  const float x[5] = {3, 100, 6, 100, 9}, dy[1] = {6};
  float y[1], dx[5];
  avg_pool(DType::f32, p, x, y);
  CHECK(y[0] == 6);
  avg_pool_backward(DType::f32, p, dy, dx);
  CHECK((dx[0] == 2 && dx[1] == 0 && dx[4] == 2));
}
