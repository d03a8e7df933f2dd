// Matrix products, one JSON line a shape: GFLOP/s of gemm and of the built-in kernels, best of
// alternating rounds.
//   usage: gemm [threads]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/half.h"
#include "core/threads.h"
#include "cpu/gemm.h"

using namespace rille;
using namespace rille::cpu;

namespace {

struct Shape {
  const char* dtype;
  int64_t m, n, k;
  bool ta = false, tb = false;
};

double seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

template <class F>
double once(int repeats, F&& f) {
  const double start = seconds();
  for (int i = 0; i < repeats; ++i) f();
  return (seconds() - start) / repeats;
}

template <class T>
std::vector<T> random_matrix(int64_t n, unsigned seed) {
  std::minstd_rand rng(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& v : values) v = T(uniform(rng));
  return values;
}

template <class T>
void measure(const Shape& s, DType dtype) {
  const Gemm g = dense(s.m, s.n, s.k, Transpose{s.ta}, Transpose{s.tb});
  const auto a = random_matrix<T>(s.m * s.k, 1), b = random_matrix<T>(s.k * s.n, 2);
  std::vector<T> c(static_cast<size_t>(s.m * s.n));
  const auto best = [&] { gemm(dtype, g, a.data(), b.data(), c.data()); };
  const auto builtin = [&] { gemm_builtin(dtype, g, a.data(), b.data(), c.data()); };
  best();
  builtin();
  const double flop = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n * s.k);
  const int repeats = flop < 1e7 ? static_cast<int>(1e7 / flop) + 1 : 1;
  double fastest = 1e9, fastest_builtin = 1e9;
  const double end = seconds() + 0.3;
  while (seconds() < end) {
    fastest = std::min(fastest, once(repeats, best));
    fastest_builtin = std::min(fastest_builtin, once(repeats, builtin));
  }
  std::printf(
      "{\"dtype\": \"%s\", \"m\": %ld, \"n\": %ld, \"k\": %ld, \"ta\": %d, \"tb\": %d, "
      "\"threads\": %d, \"us\": %.2f, \"gflops\": %.1f, \"builtin_us\": %.2f, "
      "\"builtin_gflops\": %.1f}\n",
      s.dtype, s.m, s.n, s.k, s.ta, s.tb, threads(), fastest * 1e6, flop / fastest * 1e-9,
      fastest_builtin * 1e6, flop / fastest_builtin * 1e-9);
  std::fflush(stdout);
}

const Shape kShapes[] = {{"f32", 8, 8, 8},
                         {"f32", 32, 32, 32},
                         {"f32", 64, 64, 64},
                         {"f32", 64, 64, 64, false, true},
                         {"f32", 64, 64, 64, true},
                         {"f32", 128, 128, 128},
                         {"f32", 256, 256, 256},
                         {"f32", 1024, 1024, 1024},
                         {"f32", 1024, 1024, 1024, false, true},
                         {"f32", 1024, 1024, 1024, true},
                         {"f32", 1, 768, 768},
                         {"f32", 1, 768, 768, false, true},
                         {"f32", 768, 65, 128, false, true},
                         {"f32", 768, 512, 128, false, true},
                         {"f32", 768, 128, 65},
                         {"f32", 512, 128, 768, true},
                         {"f32", 2048, 1536, 384, false, true},
                         {"f32", 1536, 384, 2048, true},
                         {"f64", 64, 64, 64},
                         {"f64", 512, 512, 512},
                         {"bf16", 512, 512, 512},
                         {"f16", 512, 512, 512},
                         {"bf16", 64, 64, 64},
                         {"bf16", 768, 512, 128, false, true},
                         {"i64", 256, 256, 256}};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_threads(std::atoi(argv[1]));
  for (const Shape& s : kShapes) {
    const DType dtype = *parse_dtype(s.dtype);
    if (dtype == DType::f64)
      measure<double>(s, dtype);
    else if (dtype == DType::bf16)
      measure<bf16>(s, dtype);
    else if (dtype == DType::f16)
      measure<f16>(s, dtype);
    else if (dtype == DType::i64)
      measure<int64_t>(s, dtype);
    else
      measure<float>(s, dtype);
  }
}
