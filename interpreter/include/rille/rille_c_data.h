/* Data loaders for C: a part of rille_c.h, which includes it. Since 1.2. */
#ifndef RILLE_RILLE_C_DATA_H
#define RILLE_RILLE_C_DATA_H

#include "rille/rille_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Batches of a dataset, in the orders that scripts' loaders have, and the same ones with any number
 * of workers. One thread at a time uses a loader. */
typedef struct rille_loader rille_loader;
/* Adds the tensors of the sample at `index` (from 0) to `sample`. Fails as a rille_callback does.
 * Workers call it from several threads at once. */
typedef rille_status (*rille_get_sample)(void* userdata, int64_t index, rille_tensors* sample,
                                         rille_error** error);

/* Over the rows of tensors; batches have their names. Options by the names that scripts use: batch
 * (false: samples as they are), shuffle, sampler (positions from 0), workers, drop_last, prefetch,
 * persistent, timeout, seed. NULL: none. */
RILLE_API rille_status rille_loader_new(const rille_tensors* tensors, const rille_value* options,
                                        rille_loader** out, rille_error** error);
/* Over what a callback gives for 0 to size - 1. `destroy` as everywhere. */
RILLE_API rille_status rille_loader_from_callback(int64_t size, rille_get_sample get,
                                                  void* userdata, rille_destroy destroy,
                                                  const rille_value* options, rille_loader** out,
                                                  rille_error** error);
/* Waits for workers that are inside of the callback. */
RILLE_API void rille_loader_delete(rille_loader* loader);
/* Batches of an epoch. */
RILLE_API int64_t rille_loader_size(const rille_loader* loader);
/* The next batch of the epoch under way, or of one that begins; NULL once at its end. A batch that
 * failed counts as had, one that is late (E_WORKER after the timeout) is still to come. */
RILLE_API rille_status rille_loader_next(rille_loader* loader, rille_tensors** out,
                                         rille_error** error);
/* Which epoch comes next; without it they count from 1. */
RILLE_API rille_status rille_loader_set_epoch(rille_loader* loader, int64_t epoch,
                                              rille_error** error);
/* Where it stands: a table of the fields that scripts' loaders have (epoch, batches, items, batch,
 * seed, order_seed). The batch after rille_loader_load_state is the one that came next, with any
 * number of workers; E_STATE for a state of another loader. */
RILLE_API rille_status rille_loader_state(const rille_loader* loader, rille_value** out,
                                          rille_error** error);
RILLE_API rille_status rille_loader_load_state(rille_loader* loader, const rille_value* state,
                                               rille_error** error);
/* Ends the epoch under way and the workers, while the handle stays. */
RILLE_API rille_status rille_loader_close(rille_loader* loader, rille_error** error);

#ifdef __cplusplus
}
#endif
#endif
