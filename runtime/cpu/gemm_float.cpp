// Products of float matrices.
#include "cpu/gemm_block.h"
#include "cpu/gemm_small.h"
#include "cpu/gemm_turned.h"
#include "cpu/gemv.h"

namespace rille::cpu {

template void block::run_pass(const Pass<float>&);
template void gemm_blocked(const Product<float>&);
template void gemm_turned(const Product<float>&);
template void gemm_small(const Product<float>&);
template void gemv(const Product<float>&);

}  // namespace rille::cpu
