// Modules of the C interface that are an op: Tanh, Dropout, MSELoss.
#pragma once
#include <span>

#include "interpreter/api/modules.h"

namespace rille::capi {

/// What such a module does, with the options that it was made with. Throws E_ARG for a name that is
/// none's, E_OPTION, E_TYPE.
v1::nn::Forward forward_over_op(std::string_view name, std::span<const v1::Value> arguments,
                                const v1::Value& options);

}  // namespace rille::capi
