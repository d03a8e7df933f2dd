#include "cpu/movement.h"

#include <algorithm>
#include <cstring>

#include "core/budget.h"
#include "core/threads.h"
#include "cpu/stream.h"
#include "cpu/turn.h"

namespace rille::cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;    // elements a thread takes at least
constexpr int64_t kUnit = 1 << 10;     // at whose multiples a copy of one piece is cut
constexpr int64_t kBlock = kTurnRows;  // rows of a band that turns rows into columns

// Dims in the order of the target's memory, merged where both sides allow it.
struct Plan {
  Dims sizes, to, from;
};

Plan make_plan(const Tensor& dst, const Tensor& src) {
  int order[kMaxRank], n = 0;
  for (int d = 0; d < dst.rank(); ++d)
    if (dst.shape()[d] != 1) order[n++] = d;
  const Strides& by = dst.strides();
  sort_few(order, order + n, [&](int a, int b) { return by[a] > by[b]; });
  Plan p;
  for (int k = 0; k < n; ++k) {
    const int64_t size = dst.shape()[order[k]], to = by[order[k]], from = src.strides()[order[k]];
    const int last = p.sizes.size() - 1;
    if (last >= 0 && p.to[last] == to * size && p.from[last] == from * size) {
      p.sizes[last] *= size;
      p.to[last] = to;
      p.from[last] = from;
    } else {
      p.sizes.push_back(size);
      p.to.push_back(to);
      p.from.push_back(from);
    }
  }
  if (n == 0) p = {{1}, {1}, {1}};
  return p;
}

// Where the source runs along another dim than the target, that dim goes next to the last: the two
// are then walked in blocks that fit the first-level cache on both sides.
bool turns(Plan& p) {
  const int last = p.sizes.size() - 1;
  if (last < 1 || p.from[last] == 1) return false;
  for (int d = 0; d < last; ++d) {
    if (p.from[d] != 1) continue;
    for (Dims* dims : {&p.sizes, &p.to, &p.from}) {
      const int64_t v = (*dims)[d];
      dims->erase(d);
      dims->insert(last - 1, v);
    }
    return true;
  }
  return false;
}

template <class U>
void copy_row(U* to, int64_t step, const U* from, int64_t stride, int64_t n) {
  polled(n, [&](int64_t begin, int64_t end) {
    if (step == 1 && stride == 1)
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(U));
    else if (step == 1 && stride == 0)
      std::fill(to + begin, to + end, *from);
    else
      for (int64_t i = begin; i < end; ++i) to[i * step] = from[i * stride];
  });
}

// The last two dims of `p`, target steps (a, b), source strides (1, c).
template <class U>
void copy_turned(U* to, const U* from, const Plan& p, int64_t first, int64_t end,
                 bool past_caches) {
  const int last = p.sizes.size() - 1;
  const int64_t cols = p.sizes[last], a = p.to[last - 1], b = p.to[last], c = p.from[last];
  if (b == 1)
    return turn(Turn<U>{to + first * a, from + first, end - first, cols, a, c, past_caches});
  constexpr int64_t side = 32;
  for (int64_t i = first; i < end; i += side)
    for (int64_t j = 0; j < cols; j += side)
      for (int64_t r = i; r < std::min(i + side, end); ++r)
        for (int64_t s = j; s < std::min(j + side, cols); ++s) to[r * a + s * b] = from[r + s * c];
}

template <class U>
void run(Plan p, U* to, const U* from, int64_t total) {
  const bool turned = turns(p);
  const int inner = turned ? 2 : 1, outer = p.sizes.size() - inner;
  const Dims sizes(p.sizes.begin(), p.sizes.begin() + outer);
  const Dims to_steps(p.to.begin(), p.to.begin() + outer),
      from_steps(p.from.begin(), p.from.begin() + outer);
  const int last = p.sizes.size() - 1;
  const bool past_caches = total * static_cast<int64_t>(sizeof(U)) >= kPastCaches;
  // Pieces: a row, or a band of kBlock rows of the turned plane, of one outer index.
  const int64_t row = p.sizes[last] * (turned ? kBlock : 1);
  const int64_t bands = turned ? (p.sizes[last - 1] + kBlock - 1) / kBlock : 1;
  const int64_t pieces = total / (p.sizes[last] * (turned ? p.sizes[last - 1] : 1)) * bands;
  parallel_evenly(pieces, kGrain / row, 1, [&](int64_t begin, int64_t end) {
    Walk<2> walk(sizes, {&to_steps, &from_steps}, begin / bands);
    for (int64_t i = begin; i < end; ++i) {
      U* t = to + walk.offset[0];
      const U* f = from + walk.offset[1];
      if (turned) {
        const int64_t first = i % bands * kBlock;
        copy_turned(t, f, p, first, std::min(first + kBlock, p.sizes[last - 1]), past_caches);
      } else {
        copy_row(t, p.to[last], f, p.from[last], p.sizes[last]);
      }
      if ((i + 1) % bands == 0) walk.next();
    }
  });
}

template <class U>
void run_as(const Plan& p, const Tensor& dst, const Tensor& src) {
  U* to = dst.data_as<U>();
  const U* from = src.data_as<U>();
  if (p.sizes.size() == 1 && p.to[0] == 1 && p.from[0] == 1) {
    const bool past_caches = dst.nbytes() >= kPastCaches;
    parallel_evenly(p.sizes[0], kGrain * 4, kUnit, [&](int64_t begin, int64_t end) {
      const StreamEnd streamed(past_caches);
      const int64_t bytes = (end - begin) * static_cast<int64_t>(sizeof(U));
      if (past_caches)
        stream_copy(to + begin, from + begin, bytes);
      else
        std::memcpy(to + begin, from + begin, static_cast<size_t>(bytes));
    });
  } else {
    run(p, to, from, dst.numel());
  }
}

template <class U>
void band_rows(const Tensor& y, const Tensor& x, int64_t low, int64_t high) {
  const int last = y.rank() - 1;
  const int64_t cols = y.shape()[last], step = y.strides()[last], stride = x.strides()[last];
  const Shape outer(y.shape().begin(), y.shape().end() - 1);
  const Strides to(y.strides().begin(), y.strides().end() - 1);
  const Strides from(x.strides().begin(), x.strides().end() - 1);
  parallel_evenly(y.numel() / cols, kGrain / cols, 1, [&](int64_t begin, int64_t end) {
    Walk<2> walk(outer, {&to, &from}, begin);
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      U* t = y.data_as<U>() + walk.offset[0];
      const U* f = x.data_as<U>() + walk.offset[1];
      const int64_t row = walk.at(last - 1);
      const int64_t first = std::clamp<int64_t>(row + low, 0, cols);
      const int64_t behind = std::clamp<int64_t>(row + high + 1, first, cols);
      const U zero = 0;
      copy_row(t, step, &zero, 0, first);
      if (t != f) copy_row(t + first * step, step, f + first * stride, stride, behind - first);
      copy_row(t + behind * step, step, &zero, 0, cols - behind);
    }
  });
}

}  // namespace

void keep_band(const Tensor& y, const Tensor& x, int64_t low, int64_t high) {
  if (y.numel() == 0) return;
  const int64_t far = y.size(-1) + y.size(-2);  // beyond every diagonal; keeps the sums above small
  low = std::clamp(low, -far, far);
  high = std::clamp(high, -far, far);
  with_unit(y.dtype(), [&]<class U>() { band_rows<U>(y, x, low, high); });
}

void copy_strided(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  if (dst.data() == src.data() && dst.strides() == src.strides()) return;
  const Plan p = make_plan(dst, src);
  with_unit(dst.dtype(), [&]<class U>() { run_as<U>(p, dst, src); });
}

void clear(const Tensor& dst) {
  char* p = dst.data_as<char>();
  parallel_for(dst.nbytes(), int64_t{1} << 19, [&](int64_t begin, int64_t end) {
    std::memset(p + begin, 0, static_cast<size_t>(end - begin));
  });
}

}  // namespace rille::cpu
