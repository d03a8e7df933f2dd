// Neural networks: modules, and every layer there is.
#pragma once
#include "rille/containers.hpp"
#include "rille/layers.hpp"
#include "rille/module.hpp"
#include "rille/transformer.hpp"
#include "rille/triplet.hpp"
