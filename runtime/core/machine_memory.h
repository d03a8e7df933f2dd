// How much memory a process may hope for.
#pragma once
#include <cstdint>

namespace rille {

/// Bytes of the machine's memory, or of the control group that this process is confined to.
int64_t machine_memory();

}  // namespace rille
