// The list of families: the only list an op family joins. Each function lives in its family's .cpp.
#pragma once
#include <vector>

#include "ops/op_info.h"

namespace rille {

using OpFamily = std::vector<const OpInfo*>;

OpFamily family_activation();
OpFamily family_arith();
OpFamily family_arrange();
OpFamily family_attention();
OpFamily family_batch_norm();
OpFamily family_binary();
OpFamily family_bitwise();
OpFamily family_cast();
OpFamily family_compare();
OpFamily family_contract();
OpFamily family_conv();
OpFamily family_create();
OpFamily family_cross_entropy();
OpFamily family_ctc_loss();
OpFamily family_decompose();
OpFamily family_distance();
OpFamily family_dropout();
OpFamily family_embedding();
OpFamily family_extreme();
OpFamily family_fold();
OpFamily family_index();
OpFamily family_linalg();
OpFamily family_loss();
OpFamily family_margin_loss();
OpFamily family_mask();
OpFamily family_math();
OpFamily family_matmul();
OpFamily family_matrix();
OpFamily family_norm();
OpFamily family_order();
OpFamily family_pointwise_grad();
OpFamily family_pool();
OpFamily family_quantize();
OpFamily family_random();
OpFamily family_rectifier();
OpFamily family_recurrent();
OpFamily family_reduce();
OpFamily family_resize();
OpFamily family_rotary();
OpFamily family_rounding();
OpFamily family_scaled_mm();
OpFamily family_scan();
OpFamily family_scatter();
OpFamily family_scatter_reduce();
OpFamily family_search();
OpFamily family_select();
OpFamily family_shape();
OpFamily family_slice();
OpFamily family_softmax();
OpFamily family_strided();
OpFamily family_trig();
OpFamily family_view();

}  // namespace rille
