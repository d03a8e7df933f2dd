// Memory of somebody else's under a tensor: what from_host and DLPack have in common.
#pragma once
#include "interpreter/api/inside.h"

namespace rille::api {

struct HostBlock {
  void* data = nullptr;
  Shape shape;
  Strides strides;  // in elements, one a dim
  DType dtype = DType::f32;
  Device device;
  bool read_only = false;
};

/// A tensor over that block; `release(context)`, where given, runs once when nothing looks at it
/// any more. Throws E_SHAPE, E_ARG; then it never runs.
Tensor adopt(const HostBlock& block, void (*release)(void*), void* context);

}  // namespace rille::api
