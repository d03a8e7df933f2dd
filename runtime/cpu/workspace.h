// Workspace of matrix and convolution kernels: one growing buffer a thread and purpose, aligned to
// pages, never cleared, valid until the same thread asks for the same purpose again. Kept between
// calls because fresh pages cost more than most kernels; given back when the thread ends, or where
// a budget, to which large ones count, refuses a tensor.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rille::cpu {

enum class Purpose {
  gemm_a,      // packed A, or a strided vector gathered
  gemm_b,      // packed B
  gemm_c,      // sums before they are rounded
  narrow_a,    // small products of 16-bit floats: A and B widened
  narrow_b,    //
  gemv,        // sums of pieces
  columns,     // convolution: images as columns
  rows,        // convolution: rows of outputs of several images
  conv_sums,   // convolution: weight gradients of parts of the batch
  widen_x,     // convolution of 16-bit floats and narrow integers: operands widened
  widen_w,     //
  widen_y,     //
  widen_bias,  //
  count
};

void* workspace_bytes(Purpose purpose, size_t bytes);

template <class T>
T* workspace(Purpose purpose, int64_t n) {
  return static_cast<T*>(workspace_bytes(purpose, static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace rille::cpu
