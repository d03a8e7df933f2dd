// Neural networks: modules, and every layer there is.
#pragma once
#include "rille/layers.hpp"
#include "rille/module.hpp"
