// Decompositions of dense row-major f64 matrices, each a plain serial algorithm; a batch is cut
// into its matrices by the caller. Signs that mathematics leaves open are fixed by rule (below), so
// results are the same on every run and move continuously with the input. Called by ops/linalg,
// ops/decompose.
#pragma once
#include <cstdint>

namespace rille::cpu {

/// P A = L U with row exchanges, largest pivot first; a becomes L below and U above. Row i was
/// exchanged with rows[i]. Returns the sign of P; 0 where a pivot is 0: singular.
int lu_factor(int64_t n, double* a, int64_t* rows);
/// b [n, columns] becomes A^-1 b.
void lu_solve(int64_t n, const double* lu, const int64_t* rows, int64_t columns, double* b);

/// The lower L with L L^T = a, from the lower part of a, which it replaces; zeros above. Returns
/// false where a is not positive definite.
bool cholesky_factor(int64_t n, double* a);

/// b [n, columns] becomes a^-1 b; reads only the upper or lower part of a, not its diagonal where
/// that is said to be 1. A 0 on the diagonal gives inf or nan.
void solve_triangle(int64_t n, const double* a, bool upper, bool unit, int64_t columns, double* b);

/// a [m, n] = q [m, k] r [k, n], k <= m columns of q. Householder's reflections, so that a
/// diagonal element of r has the sign opposite to its column's head.
void qr_factor(int64_t m, int64_t n, int64_t k, double* a, double* q, double* r);

/// Symmetric a (its lower part is read, all of it destroyed): ascending values, and vectors as rows
/// whose largest element is positive.
void eigen_symmetric(int64_t n, double* a, double* values, double* vectors);

/// a [m, n] = u diag(s) vt with u [m, mu], vt [nv, n], descending s; mu and nv are min(m, n), or m
/// and n for full bases. The largest element of a column of u is positive.
void singular_values(int64_t m, int64_t n, const double* a, int64_t mu, int64_t nv, double* u,
                     double* s, double* vt);

}  // namespace rille::cpu
