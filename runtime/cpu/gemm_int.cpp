// Products of i64, computed unsigned because sums wrap; narrower integers are widened (gemm.cpp).
#include "cpu/gemm_block.h"
#include "cpu/gemm_small.h"
#include "cpu/gemm_turned.h"
#include "cpu/gemv.h"

namespace rille::cpu {

template void block::run_pass(const Pass<uint64_t>&);
template void gemm_blocked(const Product<uint64_t>&);
template void gemm_turned(const Product<uint64_t>&);
template void gemm_small(const Product<uint64_t>&);
template void gemv(const Product<uint64_t>&);

}  // namespace rille::cpu
