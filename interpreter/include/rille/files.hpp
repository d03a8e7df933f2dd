// Tensors in files: safetensors, with checksums, as scripts write and read them.
#pragma once
#include "rille/module.hpp"

namespace rille::RILLE_V1 {

/// Writes all of it, or leaves what was there. Throws E_IO, E_ARG for names that are there twice.
RILLE_API void save(const std::string& path, const StateDict& tensors);
/// Throws E_IO, E_FORMAT, E_CKPT_TORN for a file whose checksums do not fit.
RILLE_API StateDict load(const std::string& path);

}  // namespace rille::RILLE_V1
