/* Checkpoint blocks for C: a part of rille_c.h, which includes it. Since 1.5. */
#ifndef RILLE_RILLE_C_CHECKPOINT_H
#define RILLE_RILLE_C_CHECKPOINT_H

#include "rille/rille_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `block`, whose activations are let go of; a backward that needs the first of them runs it
 * again. Its arguments are the inputs in their order, and what it gives are tensors; `out` gets
 * them named "1", "2", .... A call of the library's that fails in the second run with E_CKPT_DONE
 * says that all is there: the block returns what it was given. The options are a table with the
 * names of CheckpointOptions (rille/checkpoint.hpp), or NULL. `destroy` as everywhere: once the
 * graph and the block are gone. */
RILLE_API rille_status rille_checkpoint(rille_callback block, void* userdata, rille_destroy destroy,
                                        const rille_tensors* inputs, const rille_value* options,
                                        rille_tensors** out, rille_error** error);

#ifdef __cplusplus
}
#endif
#endif
