#include "cpu/rotary.h"

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/row_access.h"

namespace rille::cpu {
namespace {

template <class A>
RILLE_CLONES void turn_halves(const A* x, const A* cos, const A* sin, A* y, int64_t half) {
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const A a = x[i], b = x[i + half];
    y[i] = a * cos[i] - b * sin[i];
    y[i + half] = b * cos[i] + a * sin[i];
  }
}

template <class A>
RILLE_CLONES void turn_neighbours(const A* x, const A* cos, const A* sin, A* y, int64_t half) {
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const A a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = a * cos[i] - b * sin[i];
    y[2 * i + 1] = b * cos[i] + a * sin[i];
  }
}

template <class A>
void run(DType d, const Rotary& r, const void* x, const A* cos, const A* sin, void* y) {
  const int64_t half = r.turned / 2;
  parallel_evenly(r.rows, rows_per_chunk(r.width), 1, [&](int64_t begin, int64_t end) {
    RowReader<A> in(d, x, r.width);
    RowWriter<A> out(d, y, r.width);
    for (int64_t i = begin; i < end; ++i) {
      const A* from = in.at(i * r.width);
      A* to = out.at(i * r.width);
      const int64_t at = i % r.places * half;
      (r.interleaved ? turn_neighbours<A> : turn_halves<A>)(from, cos + at, sin + at, to, half);
      std::copy(from + r.turned, from + r.width, to + r.turned);
      out.done();
    }
  });
}

}  // namespace

void rotary(DType d, const Rotary& r, const void* x, const void* cos, const void* sin, void* y) {
  with_accumulator(d, [&]<class A>() {
    run<A>(d, r, x, static_cast<const A*>(cos), static_cast<const A*>(sin), y);
  });
}

}  // namespace rille::cpu
