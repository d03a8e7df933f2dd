// A tensor as text for a terminal.
#pragma once
#include <string>

#include "core/tensor.h"

namespace rille::bind {

/// As print shows it; where a line would be longer than `columns`, cut to three values at each end
/// of a dim, and what is too long even so goes on in further lines.
std::string print_tensor(const Tensor& t, size_t columns);

}  // namespace rille::bind
