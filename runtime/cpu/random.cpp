// Pieces of 1024 elements: words, then values, then storage, all in the first-level cache. Bound by
// memory for uniforms, by log and sincos for normals.
#include "cpu/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/budget.h"
#include "core/half.h"
#include "core/macros.h"
#include "core/narrow.h"
#include "core/philox.h"
#include "core/threads.h"
#include "cpu/philox_words.h"
#include "cpu/row_access.h"
#include "cpu/vector_math.h"

namespace rille::cpu {
namespace {

constexpr int64_t kPiece = 1024;
constexpr int64_t kGrain = 16 * kPiece;

template <class A>
inline A unit(const uint32_t* words, int64_t i) {
  if constexpr (std::is_same_v<A, float>)
    return unit_float(words[i]);
  else
    return unit_double(words[2 * i], words[2 * i + 1]);
}

template <class A>
RILLE_CLONES void make_uniform(const uint32_t* words, A* out, int64_t n, A low, A width, A top) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const A x = unit<A>(words, i) * width + low;
    out[i] = x < top ? x : top;
  }
}

template <class A>
RILLE_CLONES void make_normal(const uint32_t* words, A* out, int64_t n, A mean, A std) {
#pragma omp simd
  for (int64_t i = 0; i < n / 2; ++i) {
    const NormalPair<A> z = box_muller(unit<A>(words, 2 * i), unit<A>(words, 2 * i + 1));
    out[2 * i] = z.first * std + mean;
    out[2 * i + 1] = z.second * std + mean;
  }
}

template <class A>
RILLE_CLONES void make_exponential(const uint32_t* words, A* out, int64_t n, A rate) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = -math::log(A(1) - unit<A>(words, i)) / rate;
}

RILLE_CLONES void make_bernoulli(const uint32_t* words, uint8_t* out, int64_t n, uint32_t below) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = (words[i] >> 8) < below ? 1 : 0;
}

RILLE_CLONES void make_bernoulli(const uint32_t* words, const float* p, uint8_t* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = unit_float(words[i]) < p[i] ? 1 : 0;
}

void make_integers(const uint32_t* words, int64_t* out, int64_t n, int64_t low, uint64_t count) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t u = uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
    // count 0 stands for all 2^64 numbers
    const uint64_t k =
        count ? static_cast<uint64_t>((static_cast<__uint128_t>(u) * count) >> 64) : u;
    out[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + k);
  }
}

template <class A>
RILLE_CLONES void drop(const uint32_t* words, const A* x, A* y, int64_t n, uint32_t below,
                       A scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * ((words[i] >> 8) < below ? A(0) : scale);
}

// The vector forms of log differ from the scalar one in the last bits. So values are always made in
// whole vectors of kLanes, some of them in vain: then no split can change them.
constexpr int64_t kLanes = 64;
inline int64_t padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Cuts [0, n) into pieces and calls fill(words, begin, count) for each. `kEach` is how many words
// an element takes; words point at those of element `begin`, and go on for padded(count) elements.
template <int kEach, class Fill>
void each_piece(int64_t n, Draw draw, Fill fill) {
  constexpr int64_t per_block = 4 / kEach;
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[(kPiece + kLanes) * kEach + 4];
    for (int64_t i = begin; i < end; i += kPiece) {
      const int64_t m = std::min(kPiece, end - i), at = draw.first + i, skip = at % per_block;
      const int64_t blocks = padded(skip + m) / per_block + 1;
      philox_words(draw.seed, draw.op, static_cast<uint64_t>(at / per_block), words, blocks);
      fill(words + skip * kEach, i, m);
    }
  });
}

template <class A>
inline constexpr int kWordsEach = sizeof(A) / 4;

// Where m values of dtype d are made: where they will lie, if whole vectors fit there.
template <class A>
A* workplace(DType d, char* to, int64_t m, A* room) {
  return d == kDType<A> && m % kLanes == 0 ? reinterpret_cast<A*>(to) : room;
}

// Floating values, each of its own words alone.
template <class A, class Make>
void fill_values(DType d, void* out, int64_t n, Draw draw, Make make) {
  each_piece<kWordsEach<A>>(n, draw, [&](const uint32_t* words, int64_t i, int64_t m) {
    alignas(64) A values[kPiece];
    char* to = element(out, d, i);
    A* at = workplace(d, to, m, values);
    make(words, at, padded(m));
    if (at == values) convert(kDType<A>, values, d, to, m);
  });
}

// A narrow format has few values: each is looked at.
double below_narrow(DType d, double x) {
  double most = -std::numeric_limits<double>::infinity();
  for (int code = 0; code < 1 << bits_of(d); ++code) {
    const auto value = static_cast<double>(decode(d, static_cast<uint8_t>(code)));
    if (value < x) most = std::max(most, value);
  }
  return most;
}

// The greatest value of a dtype that is less than x.
double below(DType d, double x) {
  if (d == DType::f64) return std::nextafter(x, -std::numeric_limits<double>::infinity());
  float f = static_cast<float>(x);
  if (static_cast<double>(f) >= x) f = std::nextafter(f, -std::numeric_limits<float>::infinity());
  if (d == DType::f32) return static_cast<double>(f);
  if (is_narrow(d)) return below_narrow(d, x);
  // Of a 16-bit format: drop the bits that it has not, towards -inf.
  double y;
  uint16_t bits;
  convert(DType::f32, &f, d, &bits, 1);
  convert(d, &bits, DType::f64, &y, 1);
  if (y < x) return y;
  bits = static_cast<uint16_t>(y > 0 ? bits - 1 : (bits & 0x7fffu) == 0 ? 0x8001u : bits + 1);
  convert(d, &bits, DType::f64, &y, 1);
  return y;
}

}  // namespace

void random_words(uint32_t* out, int64_t n, Draw draw) {
  each_piece<1>(n, draw, [&](const uint32_t* words, int64_t i, int64_t m) {
    std::memcpy(out + i, words, static_cast<size_t>(m) * 4);
  });
}

void uniform(DType d, void* out, int64_t n, double low, double high, Draw draw) {
  const double top = std::max(low, below(d, high));
  with_accumulator(d, [&]<class A>() {
    fill_values<A>(d, out, n, draw, [&](const uint32_t* words, A* to, int64_t m) {
      make_uniform(words, to, m, static_cast<A>(low), static_cast<A>(high - low),
                   static_cast<A>(top));
    });
  });
}

void normal(DType d, void* out, int64_t n, double mean, double std, Draw draw) {
  with_accumulator(d, [&]<class A>() {
    constexpr int each = kWordsEach<A>;
    each_piece<each>(n, draw, [&](const uint32_t* words, int64_t i, int64_t m) {
      alignas(64) A values[kPiece + kLanes];
      const int64_t skip = (draw.first + i) % 2;  // the second of a pair comes with its first
      char* to = element(out, d, i);
      A* at = skip == 0 ? workplace(d, to, m, values) : values;
      make_normal(words - skip * each, at, padded(skip + m), static_cast<A>(mean),
                  static_cast<A>(std));
      if (at == values) convert(kDType<A>, values + skip, d, to, m);
    });
  });
}

void exponential(DType d, void* out, int64_t n, double rate, Draw draw) {
  with_accumulator(d, [&]<class A>() {
    fill_values<A>(d, out, n, draw, [&](const uint32_t* words, A* to, int64_t m) {
      make_exponential(words, to, m, static_cast<A>(rate));
    });
  });
}

void bernoulli(DType d, void* out, int64_t n, double p, Draw draw) {
  each_piece<1>(n, draw, [&](const uint32_t* words, int64_t i, int64_t m) {
    uint8_t values[kPiece];
    make_bernoulli(words, values, m, drop_threshold(p));
    convert(DType::u8, values, d, element(out, d, i), m);
  });
}

void bernoulli(DType d, void* out, int64_t n, DType pd, const void* p, Draw draw) {
  each_piece<1>(n, draw, [&](const uint32_t* words, int64_t i, int64_t m) {
    uint8_t values[kPiece];
    float odds[kPiece];
    convert(pd, element(p, pd, i), DType::f32, odds, m);
    make_bernoulli(words, odds, values, m);
    convert(DType::u8, values, d, element(out, d, i), m);
  });
}

void randint(DType d, void* out, int64_t n, int64_t low, int64_t high, Draw draw) {
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  each_piece<2>(n, draw, [&](const uint32_t* words, int64_t i, int64_t m) {
    int64_t values[kPiece];
    make_integers(words, values, m, low, count);
    convert(DType::i64, values, d, element(out, d, i), m);
  });
}

void randperm(int64_t* out, int64_t n, Draw draw) {
  polled(n, [&](int64_t begin, int64_t end) { std::iota(out + begin, out + end, begin); });
  alignas(64) uint32_t words[2 * kPiece];
  int64_t made = 0;  // elements whose draws have been made
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (i == made) {
      end_if_over();
      random_words(words, 2 * kPiece, {draw.seed, draw.op, 2 * (draw.first + i)});
      made += kPiece;
    }
    int64_t pick;
    make_integers(words + 2 * (i % kPiece), &pick, 1, i, static_cast<uint64_t>(n - i));
    std::swap(out[i], out[pick]);
  }
}

void dropout(DType d, const void* x, void* y, int64_t n, double p, Draw draw) {
  with_accumulator(d, [&]<class A>() {
    const A scale = p < 1 ? static_cast<A>(1 / (1 - p)) : A(0);
    each_piece<1>(n, draw, [&](const uint32_t* words, int64_t i, int64_t m) {
      alignas(64) A values[kPiece];
      const bool direct = d == kDType<A>;
      const char* from = element(x, d, i);
      char* to = element(y, d, i);
      if (!direct) convert(d, from, kDType<A>, values, m);
      drop(words, direct ? reinterpret_cast<const A*>(from) : values,
           direct ? reinterpret_cast<A*>(to) : values, m, drop_threshold(p), scale);
      if (!direct) convert(kDType<A>, values, d, to, m);
    });
  });
}

}  // namespace rille::cpu
