// Products of i64, summed modulo 2^64; narrower integers are widened to it (gemm.cpp).
#include "cpu/gemm_block.h"
#include "cpu/gemm_small.h"
#include "cpu/gemv.h"

namespace rille::cpu {

template void gemm_blocked(const Product<int64_t>&);
template void gemm_small(const Product<int64_t>&);
template void gemv(const Product<int64_t>&);

}  // namespace rille::cpu
