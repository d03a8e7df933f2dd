// What advanced indexing works out before it moves anything: which dims are addressed, the shape
// that the ids have together, and where each of them points. For ops/index.cpp and ops/scatter.cpp.
#pragma once
#include "cpu/indexing.h"
#include "ops/op_info.h"

namespace rille {

/// Shapes only: enough to foretell the result.
struct IndexShapes {
  Dims dims;                    // addressed, rising
  std::vector<int> order;       // which index stands for each of them
  Shape ids;                    // their common shape
  Shape outer, inner;           // sizes of the other dims before and after the ids' in the result
  Dims outer_dims, inner_dims;  // which dims of x these are
  Shape result() const;
};
IndexShapes index_shapes(const Tensor& x, const std::vector<Tensor>& indices, const Axes& dims);

/// The same with every id checked and turned into a place.
struct IndexPlan {
  IndexShapes shapes;
  Tensor place, offset;  // i64, one for each id
  cpu::Rows rows;        // without strides of the values
};
IndexPlan index_plan(const Tensor& x, const std::vector<Tensor>& indices, const Axes& dims);
/// Says how the values lie: in the result's shape, with any strides but one from id to id.
void set_values(IndexPlan& plan, const Tensor& values);

/// Masks replaced by the ids of what is true in them, and the dims they stand for.
struct IdList {
  std::vector<Tensor> indices;
  Axes dims;
};
IdList without_masks(const Tensor& x, const std::vector<Tensor>& indices, const Axes& dims);

}  // namespace rille
