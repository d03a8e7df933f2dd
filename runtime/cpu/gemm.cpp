#include "cpu/gemm.h"

#include "core/budget.h"
#include "core/fail.h"
#include "core/threads.h"
#include "cpu/dnn.h"
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_tile.h"

namespace rille::cpu {

namespace {

constexpr int64_t kSmall = 64 * 64 * 64;       // multiply-adds that need no blocking
constexpr int64_t kDirect = 192 * 192 * 192;   // the same, where B's rows can be read in place
constexpr int64_t kSmallTiles = 32 * 32 * 32;  // less is not worth a call of oneDNN, about 2 us
constexpr int64_t kFewRows = 24;               // rows of C for which packing B never pays
constexpr int64_t kTurnedRows = 256;     // of C; with more, packing B is little beside the sums
constexpr int64_t kBatchWork = 1 << 19;  // multiply-adds worth a chunk of the batch
constexpr int64_t kWideWork = 64 << 20;  // products that use all threads one after another

/// k == 0: nothing to sum.
template <class S>
void empty_sum(const Product<S>& p) {
  using T = SumOf<S>;
  const T beta = scale_as<T>(p.g.beta);
  for (int64_t i = 0; i < p.g.m; ++i)
    for (int64_t j = 0; j < p.g.n; ++j) {
      S& c = p.c[i * p.g.ldc + j];
      T sum = beta != T(0) ? beta * static_cast<T>(c) : T(0);
      if (p.bias) sum += static_cast<T>(p.bias[j]);
      c = S(sum);
    }
}

/// A batch over one B whose rows lie evenly is one taller product.
Gemm merged(Gemm g) {
  const bool even = g.ta == Transpose::no && g.stride_b == 0 && g.stride_a == g.m * g.lda &&
                    g.stride_c == g.m * g.ldc;
  if (g.batch > 1 && even) g.m *= g.batch, g.batch = 1;
  return g;
}

bool is_small(const Gemm& g) {
  const int64_t work = g.m * g.n * g.k;
  if (work <= kSmall) return true;
  return g.tb == Transpose::no && (work <= kDirect || g.m <= kFewRows);
}

bool is_turned(const Gemm& g) {
  return g.ta == Transpose::no && g.tb == Transpose::yes && g.m <= kTurnedRows && g.n >= 2 * g.m;
}

template <class S>
void product(const Product<S>& p) {
  const Gemm& g = p.g;
  if (g.k == 0) return empty_sum(p);
  if (g.m == 1 || g.n == 1) return gemv(p);
  if (is_small(g)) return gemm_small(p);
  if constexpr (std::is_same_v<S, SumOf<S>>)
    if (is_turned(g)) return gemm_turned(p);
  gemm_blocked(p);
}

template <class S>
void run(const Gemm& g, const void* a, const void* b, void* c, const void* bias) {
  const auto at = [&](int64_t i) {
    return Product<S>{g, static_cast<const S*>(a) + i * g.stride_a,
                      static_cast<const S*>(b) + i * g.stride_b,
                      static_cast<S*>(c) + i * g.stride_c, static_cast<const S*>(bias)};
  };
  if (g.batch == 1) return product(at(0));
  const int64_t work = std::max<int64_t>(1, g.m * g.n * g.k);
  const auto some = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) product(at(i));
  };
  if (work >= kWideWork) return some(0, g.batch);
  parallel_for(g.batch, std::max<int64_t>(1, kBatchWork / work), some);
}

/// Narrow integers: widened to i64, whose low bits are theirs, and cut at the store.
template <class S>
void run_narrow(const Gemm& g, const void* a, const void* b, void* c, const void* bias) {
  const auto widened = [](const void* from, int64_t n) {
    const S* s = static_cast<const S*>(from);
    return CountedVector<int64_t>(s, s + n);
  };
  const auto extent = [&](int64_t rows, int64_t cols, int64_t ld, int64_t stride) {
    return (g.batch - 1) * stride + (rows - 1) * ld + cols;
  };
  const bool ta = g.ta == Transpose::yes, tb = g.tb == Transpose::yes;
  const int64_t size_a = extent(ta ? g.k : g.m, ta ? g.m : g.k, g.lda, g.stride_a);
  const int64_t size_b = extent(tb ? g.n : g.k, tb ? g.k : g.n, g.ldb, g.stride_b);
  const auto wide_a = widened(a, g.k ? size_a : 0), wide_b = widened(b, g.k ? size_b : 0);
  const auto wide_bias = widened(bias, bias ? g.n : 0);
  Gemm dense_c = g;
  dense_c.ldc = g.n, dense_c.stride_c = g.m * g.n;
  CountedVector<int64_t> sums(static_cast<size_t>(g.batch * g.m * g.n));
  const auto each = [&](auto&& f) {
    for (int64_t i = 0, at = 0; i < g.batch; ++i)
      for (int64_t r = 0; r < g.m; ++r)
        for (int64_t j = 0; j < g.n; ++j, ++at)
          f(static_cast<S*>(c)[i * g.stride_c + r * g.ldc + j], sums[static_cast<size_t>(at)]);
  };
  if (g.beta != 0) each([](S& narrow, int64_t& wide) { wide = narrow; });
  run<uint64_t>(dense_c, wide_a.data(), wide_b.data(), sums.data(),
                bias ? wide_bias.data() : nullptr);
  each([](S& narrow, int64_t& wide) { narrow = static_cast<S>(wide); });
}

/// Large products of f32 where there is AVX-512 (without, ours take as long or up to 8 % less in
/// every shape of benchmarks/gemm.lua, on Zen 3), of bf16 where the processor has instructions for
/// them; a batch of middling ones is quicker one a thread.
bool by_dnn(DType dtype, const Gemm& g, const void* a, const void* b, void* c, const void* bias) {
  if (dtype == DType::f32) {
    const bool wide = with_isa([](auto isa) { return isa.bytes == Avx512::bytes; });
    if (!wide || is_small(g) || (g.batch > 1 && g.m * g.n * g.k < kWideWork)) return false;
    const DnnFunctions* f = dnn();
    return f && f->gemm(dtype, g, a, b, c, bias);
  }
  if (g.alpha != 1 || g.beta != 0 || g.batch * g.m * g.n * g.k <= kSmallTiles) return false;
  const DnnFunctions* f = dnn();
  return f && f->fast_bf16 && f->gemm(dtype, g, a, b, c, bias);
}

}  // namespace

void gemm_builtin(DType dtype, const Gemm& given, const void* a, const void* b, void* c,
                  const void* bias) {
  const Gemm g = merged(given);
  if (g.m <= 0 || g.n <= 0 || g.batch <= 0) return;
  switch (dtype) {
    case DType::f64: return run<double>(g, a, b, c, bias);
    case DType::f32: return run<float>(g, a, b, c, bias);
    case DType::f16: return run<f16>(g, a, b, c, bias);
    case DType::bf16: return run<bf16>(g, a, b, c, bias);
    case DType::i64: return run<uint64_t>(g, a, b, c, bias);
    case DType::i32: return run_narrow<int32_t>(g, a, b, c, bias);
    case DType::i16: return run_narrow<int16_t>(g, a, b, c, bias);
    case DType::i8: return run_narrow<int8_t>(g, a, b, c, bias);
    case DType::u8: return run_narrow<uint8_t>(g, a, b, c, bias);
    default: break;
  }
  throw dtype_error("products of {} matrices are not defined", name(dtype)).hint("x:to \"f32\"");
}

void gemm(DType dtype, const Gemm& given, const void* a, const void* b, void* c, const void* bias) {
  const Gemm g = merged(given);
  const bool some = g.m > 1 && g.n > 1 && g.k > 0 && g.batch > 0;
  if (some && (dtype == DType::f32 || dtype == DType::bf16) && by_dnn(dtype, g, a, b, c, bias))
    return;
  gemm_builtin(dtype, g, a, b, c, bias);
}

}  // namespace rille::cpu
