// Workspace of matrix and convolution kernels: one growing buffer a thread and purpose, aligned for vectors, never
// cleared, valid until the same thread asks for the same purpose again. Kept between calls because
// fresh pages cost more than most kernels; given back when the thread ends.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rille::cpu {

enum class Purpose { gemm_a, gemm_b, gemm_c, gemv, widen_a, widen_b, conv, conv_sum, count };

void* workspace_bytes(Purpose purpose, size_t bytes);

template <class T>
T* workspace(Purpose purpose, int64_t n) {
  return static_cast<T*>(workspace_bytes(purpose, static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace rille::cpu
