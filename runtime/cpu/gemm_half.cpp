// Products of 16-bit floats, summed in f32.
#include "cpu/gemm_block.h"
#include "cpu/gemm_small.h"
#include "cpu/gemv.h"

namespace rille::cpu {

template void gemm_blocked(const Product<bf16>&);
template void gemm_small(const Product<bf16>&);
template void gemv(const Product<bf16>&);
template void gemm_blocked(const Product<f16>&);
template void gemm_small(const Product<f16>&);
template void gemv(const Product<f16>&);

}  // namespace rille::cpu
