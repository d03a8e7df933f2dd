#include "cpu/recurrent.h"

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/row_access.h"
#include "cpu/vector_math.h"

namespace rille::cpu {
namespace {

template <class A>
inline A sigmoid(A x) {
  return A(1) / (A(1) + math::exp(-x));
}

template <class A>
RILLE_CLONES void lstm_row(const A* gates, const A* c, A* next_h, A* next_c, int64_t n) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    const A i = sigmoid(gates[k]), f = sigmoid(gates[k + n]), g = math::tanh(gates[k + 2 * n]),
            o = sigmoid(gates[k + 3 * n]);
    const A cell = f * c[k] + i * g;
    next_c[k] = cell;
    next_h[k] = o * math::tanh(cell);
  }
}

template <class A>
RILLE_CLONES void lstm_back(const A* gates, const A* c, const A* dh, const A* dnext_c, A* dgates,
                            A* dc, int64_t n) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    const A i = sigmoid(gates[k]), f = sigmoid(gates[k + n]), g = math::tanh(gates[k + 2 * n]),
            o = sigmoid(gates[k + 3 * n]);
    const A said = math::tanh(f * c[k] + i * g);
    const A dcell = dnext_c[k] + dh[k] * o * (A(1) - said * said);
    dgates[k] = dcell * g * i * (A(1) - i);
    dgates[k + n] = dcell * c[k] * f * (A(1) - f);
    dgates[k + 2 * n] = dcell * i * (A(1) - g * g);
    dgates[k + 3 * n] = dh[k] * said * o * (A(1) - o);
    dc[k] = dcell * f;
  }
}

template <class A>
RILLE_CLONES void gru_row(const A* x, const A* s, const A* h, A* next_h, int64_t n) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    const A r = sigmoid(x[k] + s[k]), z = sigmoid(x[k + n] + s[k + n]);
    const A fresh = math::tanh(x[k + 2 * n] + r * s[k + 2 * n]);
    next_h[k] = fresh + z * (h[k] - fresh);
  }
}

template <class A>
RILLE_CLONES void gru_back(const A* x, const A* s, const A* h, const A* dnext, A* dx, A* ds, A* dh,
                           int64_t n) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    const A r = sigmoid(x[k] + s[k]), z = sigmoid(x[k + n] + s[k + n]);
    const A fresh = math::tanh(x[k + 2 * n] + r * s[k + 2 * n]);
    const A dfresh = dnext[k] * (A(1) - z) * (A(1) - fresh * fresh);
    const A dr = dfresh * s[k + 2 * n] * r * (A(1) - r);
    const A dz = dnext[k] * (h[k] - fresh) * z * (A(1) - z);
    dx[k] = ds[k] = dr;
    dx[k + n] = ds[k + n] = dz;
    dx[k + 2 * n] = dfresh;
    ds[k + 2 * n] = dfresh * r;
    dh[k] = dnext[k] * z;
  }
}

template <class Body>
void each_chunk(int64_t rows, int64_t width, Body&& body) {
  parallel_for(rows, rows_per_chunk(width), std::forward<Body>(body));
}

}  // namespace

void lstm_step(DType d, const LstmStep& s, void* next_h, void* next_c) {
  const int64_t n = s.hidden;
  with_accumulator(d, [&]<class A>() {
    each_chunk(s.rows, 4 * n, [&](int64_t begin, int64_t end) {
      RowReader<A> gates(d, s.gates, 4 * n), c(d, s.c, n);
      RowWriter<A> h_out(d, next_h, n), c_out(d, next_c, n);
      for (int64_t i = begin; i < end; ++i) {
        lstm_row(gates.at(4 * i * n), c.at(i * n), h_out.at(i * n), c_out.at(i * n), n);
        h_out.done(), c_out.done();
      }
    });
  });
}

void lstm_step_backward(DType d, const LstmStep& s, const void* dh, const void* dnext_c,
                        void* dgates, void* dc) {
  const int64_t n = s.hidden;
  with_accumulator(d, [&]<class A>() {
    each_chunk(s.rows, 4 * n, [&](int64_t begin, int64_t end) {
      RowReader<A> gates(d, s.gates, 4 * n), c(d, s.c, n), h_in(d, dh, n), c_in(d, dnext_c, n);
      RowWriter<A> gates_out(d, dgates, 4 * n), c_out(d, dc, n);
      for (int64_t i = begin; i < end; ++i) {
        lstm_back(gates.at(4 * i * n), c.at(i * n), h_in.at(i * n), c_in.at(i * n),
                  gates_out.at(4 * i * n), c_out.at(i * n), n);
        gates_out.done(), c_out.done();
      }
    });
  });
}

void gru_step(DType d, const GruStep& s, void* next_h) {
  const int64_t n = s.hidden;
  with_accumulator(d, [&]<class A>() {
    each_chunk(s.rows, 3 * n, [&](int64_t begin, int64_t end) {
      RowReader<A> x(d, s.x_gates, 3 * n), state(d, s.h_gates, 3 * n), h(d, s.h, n);
      RowWriter<A> out(d, next_h, n);
      for (int64_t i = begin; i < end; ++i) {
        gru_row(x.at(3 * i * n), state.at(3 * i * n), h.at(i * n), out.at(i * n), n);
        out.done();
      }
    });
  });
}

void gru_step_backward(DType d, const GruStep& s, const void* dnext_h, void* dx_gates,
                       void* dh_gates, void* dh) {
  const int64_t n = s.hidden;
  with_accumulator(d, [&]<class A>() {
    each_chunk(s.rows, 3 * n, [&](int64_t begin, int64_t end) {
      RowReader<A> x(d, s.x_gates, 3 * n), state(d, s.h_gates, 3 * n), h(d, s.h, n),
          in(d, dnext_h, n);
      RowWriter<A> dx(d, dx_gates, 3 * n), ds(d, dh_gates, 3 * n), out(d, dh, n);
      for (int64_t i = begin; i < end; ++i) {
        gru_back(x.at(3 * i * n), state.at(3 * i * n), h.at(i * n), in.at(i * n), dx.at(3 * i * n),
                 ds.at(3 * i * n), out.at(i * n), n);
        dx.done(), ds.done(), out.done();
      }
    });
  });
}

}  // namespace rille::cpu
