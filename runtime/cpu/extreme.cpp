#include "cpu/extreme.h"

#include <limits>

#include "core/budget.h"
#include "core/macros.h"
#include "core/threads.h"
#include "cpu/convert.h"
#include "cpu/lines.h"
#include "cpu/scratch.h"

namespace rille::cpu {
namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kColumns = 256;
constexpr int64_t kChunk = 1 << 16;  // of one line that one task looks through

template <bool largest, class A>
inline bool beats(A x, A best) {
  return (largest ? x > best : x < best) || (x != x && best == best);
}

constexpr int64_t kShort = 64;  // lines below this are looked through one by one

template <bool largest, class A>
int64_t place_of_best(const A* x, int64_t n) {
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i) at = beats<largest>(x[i], x[at]) ? i : at;
  return at;
}

template <bool largest, class A>
RILLE_CLONES A best_of(const A* x, int64_t n) {
  constexpr int64_t lanes = 128 / sizeof(A);
  A best[lanes];
  for (int64_t j = 0; j < lanes; ++j) best[j] = x[0];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j)
      best[j] = beats<largest>(x[i + j], best[j]) ? x[i + j] : best[j];
  }
  for (; i < n; ++i) best[0] = beats<largest>(x[i], best[0]) ? x[i] : best[0];
  for (int64_t j = 1; j < lanes; ++j)
    best[0] = beats<largest>(best[j], best[0]) ? best[j] : best[0];
  return best[0];
}

template <class A>
struct Found {
  A value;
  int64_t id;
};

// The best of x[begin..end), a line that starts at `start`.
template <bool largest, class A>
Found<A> search(const Tensor& x, int64_t start, int64_t begin, int64_t end, A* room) {
  Found<A> best{A(0), -1};
  for (int64_t i = begin; i < end; i += kBlock) {
    const int64_t n = std::min(kBlock, end - i);
    const A* block = reinterpret_cast<const A*>(element_at(x, start + i));
    if (x.dtype() != kCompute<A>) {
      convert(x.dtype(), block, kCompute<A>, room, n);
      block = room;
    }
    if (end - begin <= kShort) {
      const int64_t at = place_of_best<largest>(block, n);
      return {block[at], i + at};
    }
    const A value = best_of<largest>(block, n);
    if (best.id >= 0 && !beats<largest>(value, best.value)) continue;
    int64_t at = 0;
    while (block[at] != value && value == value) ++at;
    while (value != value && block[at] == block[at]) ++at;
    best = {value, i + at};
    if (value != value) break;
  }
  return best;
}

template <bool largest, class A>
void along_rows(const Lines& l, const Tensor& x, Tensor* values, Tensor& ids) {
  const int64_t chunks = (l.n + kChunk - 1) / kChunk;
  Scratch<Found<A>> found(l.outer * chunks);
  parallel_for(l.outer * chunks, l.grain(4 * kChunk), [&](int64_t first, int64_t last) {
    [[gnu::uninitialized]] A room[kBlock];
    for (int64_t t = first; t < last; ++t) {
      const int64_t begin = t % chunks * kChunk;
      found[t] = search<largest>(x, t / chunks * l.n, begin, std::min(l.n, begin + kChunk), room);
    }
  });
  int64_t* to = ids.data_as<int64_t>();
  for (int64_t r = 0; r < l.outer; ++r) {
    Found<A> best = found[r * chunks];
    for (int64_t c = 1; c < chunks; ++c)
      if (beats<largest>(found[r * chunks + c].value, best.value)) best = found[r * chunks + c];
    to[r] = best.id;
    if (values) convert(kCompute<A>, &best.value, x.dtype(), element_of(*values, r), 1);
  }
}

// Ids as wide as the values, so that both are compared and moved in the same vectors.
template <bool largest, class A, class Id>
RILLE_CLONES void take_row(const A* x, int64_t n, Id row, A* best, Id* ids) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const bool better = beats<largest>(x[j], best[j]);
    best[j] = better ? x[j] : best[j];
    ids[j] = better ? row : ids[j];
  }
}

template <bool largest, class A>
void along_columns(const Lines& l, const Tensor& x, Tensor* values, Tensor& ids) {
  using Id = std::conditional_t<sizeof(A) == 4, int32_t, int64_t>;
  const int64_t tiles = (l.inner + kColumns - 1) / kColumns;
  parallel_for(l.outer * tiles, std::max<int64_t>(1, l.grain() / kColumns),
               [&](int64_t first, int64_t last) {
                 [[gnu::uninitialized]] A best[kColumns], row[kColumns];
                 [[gnu::uninitialized]] Id at[kColumns];
                 for (int64_t t = first; t < last; ++t) {
                   const int64_t c = t % tiles * kColumns, n = std::min(kColumns, l.inner - c);
                   const int64_t start = t / tiles * l.n * l.inner + c,
                                 out = t / tiles * l.inner + c;
                   convert(x.dtype(), element_at(x, start), kCompute<A>, best, n);
                   std::fill_n(at, n, Id(0));
                   Poll poll;
                   for (int64_t r = 1; r < l.n; ++r, poll(n)) {
                     const A* from = reinterpret_cast<const A*>(element_at(x, start + r * l.inner));
                     if (x.dtype() != kCompute<A>) {
                       convert(x.dtype(), from, kCompute<A>, row, n);
                       from = row;
                     }
                     take_row<largest>(from, n, static_cast<Id>(r), best, at);
                   }
                   for (int64_t j = 0; j < n; ++j) ids.data_as<int64_t>()[out + j] = at[j];
                   if (values) convert(kCompute<A>, best, x.dtype(), element_of(*values, out), n);
                 }
               });
}

template <bool largest>
void dispatch(const Tensor& x, int dim, Tensor* values, Tensor& ids) {
  const Lines l(x, dim);
  const bool far = l.n > std::numeric_limits<int32_t>::max();  // beyond the short ids of floats
  const DType as = compute_type(x.dtype()) == DType::f32 && far ? DType::f64 : x.dtype();
  with_compute(as, [&]<class A>() {
    if (l.inner == 1)
      along_rows<largest, A>(l, x, values, ids);
    else
      along_columns<largest, A>(l, x, values, ids);
  });
}

}  // namespace

void extreme(bool largest, const Tensor& x, int dim, Tensor* values, Tensor& ids) {
  if (ids.numel() == 0) return;
  if (largest)
    dispatch<true>(x, dim, values, ids);
  else
    dispatch<false>(x, dim, values, ids);
}

}  // namespace rille::cpu
