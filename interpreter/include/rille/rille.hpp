// The whole C++ interface of librille: find_package(rille), link rille::rille, include this.
#pragma once
#include "rille/autocast.hpp"
#include "rille/checkpoint.hpp"
#include "rille/data.hpp"
#include "rille/files.hpp"
#include "rille/grad.hpp"
#include "rille/grad_scaler.hpp"
#include "rille/interpreter.hpp"
#include "rille/nn.hpp"
#include "rille/ops.hpp"
#include "rille/optim.hpp"
#include "rille/schedules.hpp"
#include "rille/tensor.hpp"
