// Products of double matrices.
#include "cpu/gemm_block.h"
#include "cpu/gemm_small.h"
#include "cpu/gemm_turned.h"
#include "cpu/gemv.h"

namespace rille::cpu {

template void block::run_pass(const Pass<double>&);
template void gemm_blocked(const Product<double>&);
template void gemm_turned(const Product<double>&);
template void gemm_small(const Product<double>&);
template void gemv(const Product<double>&);

}  // namespace rille::cpu
