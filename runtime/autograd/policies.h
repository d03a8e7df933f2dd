// Policies of selective checkpointing that need no script.
#pragma once
#include <string>
#include <vector>

#include "autograd/selection.h"

namespace rille::autograd {

/// Keeps the results of products, convolutions and attention. Products whose sums have at most 64
/// terms run again, as all else does: they cost no more than an op on each element.
Policy cheap_policy();
/// Keeps the results of every second product, the first among them.
Policy alternate_products_policy();

/// Names of ops, as scripts have them; an op that is composed of others stands for its kernels.
struct NamedOps {
  std::vector<std::string> save, recompute, offload;
};
/// Where only `recompute` names ops, all others are kept.
Policy named_policy(NamedOps ops);

}  // namespace rille::autograd
