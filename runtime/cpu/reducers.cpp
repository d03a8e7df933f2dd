#include "cpu/reducers.h"

#include <limits>
#include <type_traits>

#include "core/macros.h"
#include "cpu/fast_exp.h"
#include "cpu/isa.h"
#include "cpu/pointwise.h"
#include "cpu/vector_math.h"

namespace rille::cpu {
namespace {

template <class A>
using Wide = std::conditional_t<std::is_same_v<A, int64_t>, int64_t, double>;

// How parts, and totals, are joined.
struct Plus {
  template <class A>
  static A none() {
    return A(0);
  }
  template <class A>
  static A join(A a, A b) {
    return a + b;
  }
  // Overflow of integers wraps.
  static int64_t join(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Times {
  template <class A>
  static A none() {
    return A(1);
  }
  template <class A>
  static A join(A a, A b) {
    return a * b;
  }
  static int64_t join(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct Most {
  template <class A>
  static A none() {
    using L = std::numeric_limits<A>;
    return L::has_infinity ? -L::infinity() : L::min();
  }
  template <class A>
  static A join(A a, A b) {
    return b > a || b != b ? b : a;
  }
};
struct Least {
  template <class A>
  static A none() {
    using L = std::numeric_limits<A>;
    return L::has_infinity ? L::infinity() : L::max();
  }
  template <class A>
  static A join(A a, A b) {
    return b < a || b != b ? b : a;
  }
};

// A fold: map an element, join what comes out, finish. In: what is read; Part and Total: see
// Reducer.
template <class A, class J, class P = A, class T = Wide<A>>
struct Base {
  using In = A;
  using Part = P;
  using Total = T;
  using Join = J;
  static constexpr bool has_param = false;
  double number = 0;
  P map(A x, A) const { return static_cast<P>(x); }
  T done(T total, A) const { return total; }
};

template <class A>
struct SumOf : Base<A, Plus> {};
template <class A>
struct MeanOf : Base<A, Plus> {
  double done(double t, A) const { return t / this->number; }
};
template <class A>
struct ProdOf : Base<A, Times> {};
template <class A>
struct MaxOf : Base<A, Most> {};
template <class A>
struct MinOf : Base<A, Least> {};

// Counting happens in the width of the elements: a part never counts beyond 1024.
template <class A>
struct CountOf : Base<A, Plus, A, int64_t> {
  A map(A x, A) const { return x != A(0) ? A(1) : A(0); }
};
template <class A>
struct AnyOf : CountOf<A> {
  int64_t done(int64_t t, A) const { return t != 0; }
};
template <class A>
struct AllOf : Base<A, Plus, A, int64_t> {
  A map(A x, A) const { return x == A(0) ? A(1) : A(0); }
  int64_t done(int64_t t, A) const { return t == 0; }
};
template <class A>
struct ValidSum : Base<A, Plus> {
  A map(A x, A) const { return x == x ? x : A(0); }
};

template <class A>
struct L1 : Base<A, Plus> {
  A map(A x, A) const { return x < A(0) ? -x : x; }
};
// Squares are taken in double: those of floats beyond 1e19 or below 1e-19 fit nowhere else.
template <class A>
struct L2 : Base<A, Plus, double> {
  double map(A x, A) const { return static_cast<double>(x) * static_cast<double>(x); }
  double done(double t, A) const { return std::sqrt(t); }
};
template <class A>
struct Lp : Base<A, Plus, double> {
  double map(A x, A) const { return math::pow(math::fabs(static_cast<double>(x)), this->number); }
  double done(double t, A) const { return std::pow(t, 1 / this->number); }
};
template <class A>
struct LargestOf : Base<A, Most> {
  A map(A x, A) const { return x < A(0) ? -x : x; }
};
template <class A>
struct SmallestOf : Base<A, Least> {
  A map(A x, A) const { return x < A(0) ? -x : x; }
};

template <class A>
struct VarOf : Base<A, Plus> {
  static constexpr bool has_param = true;
  A map(A x, A mean) const { return (x - mean) * (x - mean); }
  double done(double t, A) const { return t / (this->number > 0 ? this->number : 0); }
};
template <class A>
struct StdOf : VarOf<A> {
  double done(double t, A mean) const { return std::sqrt(VarOf<A>::done(t, mean)); }
};
template <class A>
struct LogSumExpOf : Base<A, Plus> {
  static constexpr bool has_param = true;
  // An infinite maximum would make inf - inf of the elements that have it.
  static A finite(A m) { return math::fabs(m) == std::numeric_limits<A>::infinity() ? A(0) : m; }
  A map(A x, A m) const {
    const A below = x - finite(m);
    return fast_exp(below > A(0) ? A(0) : below);
  }
  double done(double t, A m) const {
    const auto most = static_cast<double>(m);
    return finite(m) == m ? std::log(t) + most : most + 0 * t;
  }
};

// What will be read 4 KiB from now. Intel's processors look ahead within a page only, and the sums
// at the end of a block keep them from looking at all; on AMD's Zen 3 this costs 6 to 13 %.
template <class In>
[[gnu::always_inline]] inline void prefetch_next_page(const In* x) {
  __builtin_prefetch(x + 4096 / sizeof(In));
}

// Many parts side by side, so that additions need not wait for one another, and an order of adding
// that does not depend on the instruction set.
template <class F>
inline constexpr int64_t kParts = 256 / sizeof(typename F::Part);
constexpr int64_t kPlaces = 2;  // of a row that are read at once; 4 cost Zen 4 10 to 15 %

template <class F>
[[gnu::always_inline]] inline void clear_parts(typename F::Part* parts) {
  for (int64_t j = 0; j < kParts<F>; ++j) parts[j] = F::Join::template none<typename F::Part>();
}

template <class F>
[[gnu::always_inline]] inline void fold_into(const F& f, const typename F::In* x, int64_t n,
                                             typename F::In about, typename F::Part* parts) {
  using Join = typename F::Join;
  constexpr int64_t lanes = kParts<F>;
  constexpr int64_t line = 64 / sizeof(typename F::In);
  const bool ahead = is_intel();
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int64_t j = 0; ahead && j < lanes; j += line) prefetch_next_page(x + i + j);
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) parts[j] = Join::join(parts[j], f.map(x[i + j], about));
  }
  for (int64_t j = 0; i + j < n; ++j) parts[j] = Join::join(parts[j], f.map(x[i + j], about));
}

// A whole block of each of kPlaces, `apart` elements from one another: a line of each in turn.
template <class F>
[[gnu::always_inline]] inline void fold_side_by_side(
    const F& f, const typename F::In* x, int64_t apart, typename F::In about,
    typename F::Part (&parts)[kPlaces][kParts<F>]) {
  constexpr int64_t line = 64 / sizeof(typename F::In);
  const bool ahead = is_intel();
  for (int64_t i = 0; i < kReducerBlock; i += kParts<F>)
#pragma GCC unroll 8
    for (int64_t part = 0; part < kParts<F>; part += line)
#pragma GCC unroll 2
      for (int64_t p = 0; p < kPlaces; ++p) {
        typename F::Part* to = parts[p] + part;
        const typename F::In* from = x + p * apart + i + part;
        if (ahead) prefetch_next_page(from);
#pragma omp simd
        for (int64_t j = 0; j < line; ++j) to[j] = F::Join::join(to[j], f.map(from[j], about));
      }
}

template <class F>
[[gnu::always_inline]] inline typename F::Part joined(typename F::Part* parts) {
  for (int64_t half = kParts<F> / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j) parts[j] = F::Join::join(parts[j], parts[j + half]);
  return parts[0];
}

// A long row is read in several places at once: a core that waits for memory gets more of it that
// way, since it looks ahead in each of them.
template <class F>
RILLE_CLONES void row(const void* functor, const void* data, int64_t n, const void* param,
                      void* total) {
  using In = typename F::In;
  using Part = typename F::Part;
  using Total = typename F::Total;
  constexpr int64_t block = kReducerBlock, most_blocks = 64;
  const F f = *static_cast<const F*>(functor);
  const In* x = static_cast<const In*>(data);
  const In about = F::has_param ? *static_cast<const In*>(param) : In(0);
  Total* t = static_cast<Total*>(total);
  for (; n > 0; x += most_blocks * block, n -= most_blocks * block) {
    const int64_t count = n < most_blocks * block ? n : most_blocks * block;
    const int64_t each = count / block / kPlaces;  // whole blocks of a place
    Part found[most_blocks];
    for (int64_t b = 0; b < each; ++b) {
      Part parts[kPlaces][kParts<F>];
      for (auto& place : parts) clear_parts<F>(place);
      fold_side_by_side(f, x + b * block, each * block, about, parts);
      for (int64_t p = 0; p < kPlaces; ++p) found[p * each + b] = joined<F>(parts[p]);
    }
    int64_t blocks = each * kPlaces;
    for (; blocks * block < count; ++blocks) {
      const int64_t left = count - blocks * block;
      Part parts[kParts<F>];
      clear_parts<F>(parts);
      fold_into(f, x + blocks * block, left < block ? left : block, about, parts);
      found[blocks] = joined<F>(parts);
    }
    for (int64_t b = 0; b < blocks; ++b) *t = F::Join::join(*t, static_cast<Total>(found[b]));
  }
}

template <class F>
RILLE_CLONES void columns(const void* functor, const void* data, int64_t rows, int64_t stride,
                          int64_t n, const void* params, void* into) {
  using In = typename F::In;
  using Part = typename F::Part;
  using Join = typename F::Join;
  const F f = *static_cast<const F*>(functor);
  const In* about = static_cast<const In*>(params);
  Part* parts = static_cast<Part*>(into);
  const In* x = static_cast<const In*>(data);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * stride) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const In p = F::has_param ? about[j] : In(0);
      const Part a = Join::join(f.map(x[j], p), f.map(x[j + stride], p));
      const Part b = Join::join(f.map(x[j + 2 * stride], p), f.map(x[j + 3 * stride], p));
      parts[j] = Join::join(parts[j], Join::join(a, b));
    }
  }
  for (; r < rows; ++r, x += stride) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j)
      parts[j] = Join::join(parts[j], f.map(x[j], F::has_param ? about[j] : In(0)));
  }
}

template <class Part, class Total, class Join>
void flush(const void* from, int64_t n, int64_t period, void* to) {
  const Part* parts = static_cast<const Part*>(from);
  Total* totals = static_cast<Total*>(to);
  for (int64_t i = 0; i < n; i += period)
    for (int64_t j = 0; j < period; ++j)
      totals[j] = Join::join(totals[j], static_cast<Total>(parts[i + j]));
}

template <class Total, class Join>
void join(void* to, const void* more, int64_t n) {
  Total* totals = static_cast<Total*>(to);
  const Total* m = static_cast<const Total*>(more);
  for (int64_t j = 0; j < n; ++j) totals[j] = Join::join(totals[j], m[j]);
}

template <class A, class Join>
void clear(void* to, int64_t n) {
  A* a = static_cast<A*>(to);
  for (int64_t j = 0; j < n; ++j) a[j] = Join::template none<A>();
}

template <class F>
void done(const void* functor, void* to, const void* params, int64_t n) {
  using In = typename F::In;
  const F& f = *static_cast<const F*>(functor);
  auto* totals = static_cast<typename F::Total*>(to);
  const In* p = static_cast<const In*>(params);
  for (int64_t j = 0; j < n; ++j) totals[j] = f.done(totals[j], F::has_param ? p[j] : In(0));
}

template <class T>
constexpr DType dtype_of() {
  return std::is_same_v<T, int64_t>  ? DType::i64
         : std::is_same_v<T, double> ? DType::f64
                                     : DType::f32;
}

struct Call {
  const Tensor& x;
  DimSet dims;
  const Tensor& y;
  double number;
  const Tensor* param;
};

template <class F>
void run(const Call& c) {
  using Part = typename F::Part;
  using Total = typename F::Total;
  using Join = typename F::Join;
  static_assert(sizeof(Total) == 8);
  F f{};
  f.number = c.number;
  const Reducer r{&f,
                  dtype_of<typename F::In>(),
                  dtype_of<Total>(),
                  &row<F>,
                  &columns<F>,
                  &clear<Part, Join>,
                  &clear<Total, Join>,
                  &flush<Part, Total, Join>,
                  &join<Total, Join>,
                  &done<F>};
  reduce(c.x, c.dims, r, c.y, F::has_param ? c.param : nullptr);
}

template <template <class> class F>
void floats(const Call& c, DType as) {
  if (as == DType::f64)
    run<F<double>>(c);
  else
    run<F<float>>(c);
}

template <template <class> class F>
void numbers(const Call& c, DType as) {
  if (compute_type(as) == DType::i64)
    run<F<int64_t>>(c);
  else
    floats<F>(c, as);
}

}  // namespace

void fold(Fold what, const Tensor& x, DimSet dims, DType as, const Tensor& y, double number,
          const Tensor* param) {
  const Call c{x, dims, y, number, param};
  switch (what) {
    case Fold::sum: return numbers<SumOf>(c, as);
    case Fold::mean: return floats<MeanOf>(c, as);
    case Fold::prod: return is_float(as) ? run<ProdOf<double>>(c) : run<ProdOf<int64_t>>(c);
    case Fold::max: return numbers<MaxOf>(c, as);
    case Fold::min: return numbers<MinOf>(c, as);
    case Fold::any: return floats<AnyOf>(c, as);
    case Fold::all: return floats<AllOf>(c, as);
    case Fold::count: return floats<CountOf>(c, as);
    case Fold::l1: return floats<L1>(c, as);
    case Fold::l2: return floats<L2>(c, as);
    case Fold::lp: return floats<Lp>(c, as);
    case Fold::largest: return floats<LargestOf>(c, as);
    case Fold::smallest: return floats<SmallestOf>(c, as);
    case Fold::var: return floats<VarOf>(c, as);
    case Fold::std: return floats<StdOf>(c, as);
    case Fold::logsumexp: return floats<LogSumExpOf>(c, as);
    case Fold::valid_sum: return floats<ValidSum>(c, as);
  }
}

}  // namespace rille::cpu
