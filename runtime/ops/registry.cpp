#include <algorithm>
#include <unordered_map>

#include "ops/families.h"

namespace rille {
namespace {

std::vector<const OpInfo*> collect() {
  std::vector<const OpInfo*> all;
  constexpr OpFamily (*families[])() = {
      family_activation,      //
      family_arith,           //
      family_arrange,         //
      family_attention,       //
      family_batch_norm,      //
      family_binary,          //
      family_bitwise,         //
      family_cast,            //
      family_compare,         //
      family_contract,        //
      family_conv,            //
      family_create,          //
      family_cross_entropy,   //
      family_ctc_loss,        //
      family_decompose,       //
      family_distance,        //
      family_dropout,         //
      family_embedding,       //
      family_extreme,         //
      family_fold,            //
      family_index,           //
      family_linalg,          //
      family_loss,            //
      family_margin_loss,     //
      family_mask,            //
      family_math,            //
      family_matmul,          //
      family_matrix,          //
      family_norm,            //
      family_order,           //
      family_pointwise_grad,  //
      family_pool,            //
      family_quantize,        //
      family_random,          //
      family_rectifier,       //
      family_recurrent,       //
      family_reduce,          //
      family_resize,          //
      family_rotary,          //
      family_rounding,        //
      family_scaled_mm,       //
      family_scan,            //
      family_scatter,         //
      family_scatter_reduce,  //
      family_search,          //
      family_select,          //
      family_shape,           //
      family_slice,           //
      family_softmax,         //
      family_strided,         //
      family_trig,            //
      family_view,            //
  };
  for (const auto family : families) {
    const OpFamily ops = family();
    all.insert(all.end(), ops.begin(), ops.end());
  }
  return all;
}

}  // namespace

// Ops are called through their records alone, so these must stand before anybody calls one.
extern const bool ops_listed;
const bool ops_listed = !all_ops().empty();

std::span<const OpInfo* const> all_ops() {
  static const auto& ops = *new std::vector<const OpInfo*>(collect());
  return ops;
}

std::span<const OpInfo* const> public_ops() {
  static const auto& ops = *new std::vector<const OpInfo*>([] {
    std::vector<const OpInfo*> seen;
    for (const OpInfo* op : all_ops())
      if (!op->internal) seen.push_back(op);
    return seen;
  }());
  return ops;
}

const OpInfo* find_op(std::string_view name) {
  using Index = std::unordered_map<std::string_view, const OpInfo*>;
  static const Index& index = *new Index([] {
    Index m;
    for (const OpInfo* op : all_ops()) m.emplace(op->name, op);
    return m;
  }());
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

const OpInfo* find_public_op(std::string_view name) {
  const OpInfo* op = find_op(name);
  return op && !op->internal ? op : nullptr;
}

}  // namespace rille
