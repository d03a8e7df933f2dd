// What stands behind a v1::nn::Module: names, tensors, children, and for a layer the engine's own.
#pragma once
#include <span>

#include "core/tensor.h"
#include "nn/layer.h"
#include "rille/module.hpp"
#include "rille/value.hpp"

namespace rille::v1::nn {

/// What a module of the C interface does when it is called. Layers have their own.
using Forward = std::function<std::vector<Tensor>(const Module& self, std::span<const Value>)>;

struct ModuleState {
  struct Entry {
    std::string name;
    rille::Tensor tensor;
    bool is_buffer = false;
    bool persistent = true;
  };
  std::string kind;
  std::vector<Entry> tensors;
  std::vector<std::pair<std::string, Module>> children;
  bool training = true;
  const rille::nn::LayerInfo* info = nullptr;
  std::shared_ptr<void> layer;
  Forward forward = {};
};

/// The library's way into a handle.
struct ModuleAccess {
  static ModuleState* state(const Module& m) { return m.state_.get(); }
};

}  // namespace rille::v1::nn
