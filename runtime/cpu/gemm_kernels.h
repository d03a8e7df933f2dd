// The four ways to compute one product (batch 1, m, n, k > 0), by shape; gemm.cpp chooses. S is
// what the matrices hold: double, float, bf16, f16 or uint64_t. Instantiated in gemm_float.cpp,
// gemm_double.cpp, gemm_half.cpp and gemm_int.cpp.
#pragma once
#include "cpu/gemm.h"
#include "cpu/vec.h"

namespace rille::cpu {

template <class S>
struct Product {
  Gemm g;  // batch fields are not looked at
  const S* a;
  const S* b;
  S* c;
  const S* bias;  // or null

  bool turned_a() const { return g.ta == Transpose::yes; }
  bool turned_b() const { return g.tb == Transpose::yes; }
  /// element (i, p) of op(A) is a[i * a_row() + p * a_step()]; B likewise by column and step
  int64_t a_row() const { return turned_a() ? 1 : g.lda; }
  int64_t a_step() const { return turned_a() ? g.lda : 1; }
  int64_t b_col() const { return turned_b() ? g.ldb : 1; }
  int64_t b_step() const { return turned_b() ? 1 : g.ldb; }
};

/// Packed panels, blocked for the caches, tiles of C shared among the threads.
template <class S>
void gemm_blocked(const Product<S>& p);
/// The same for few rows by a transposed B, which is not packed. Not for 16-bit floats.
template <class S>
void gemm_turned(const Product<S>& p);
/// Hardly any packing: for products that fit the near caches, and for few rows.
template <class S>
void gemm_small(const Product<S>& p);
/// m == 1 or n == 1: one pass over the matrix at the speed of memory.
template <class S>
void gemv(const Product<S>& p);

}  // namespace rille::cpu
