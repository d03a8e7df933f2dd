// Memory that is kept to be used again and belongs to nobody: where a budget refuses a tensor, what
// the calling thread keeps is let go of first.
#pragma once

namespace rille {

/// What lets go; called between kernels only. One, set by whoever keeps such memory.
void on_pressure(void (*release)());
void relieve_pressure();

}  // namespace rille
