/* Learning-rate schedules for C: a part of rille_c.h, which includes it. Since 1.2. */
#ifndef RILLE_RILLE_C_SCHEDULES_H
#define RILLE_RILLE_C_SCHEDULES_H

#include "rille/rille_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same that scripts have: equal steps give equal bits. A rate is a pure function of the step,
 * which counts from 0, so a schedule's state is one number. It may outlive its optimizer; what
 * needs that is E_STATE then. */
typedef struct rille_schedule rille_schedule;

/* A schedule by the name that scripts use ("Cosine", "OneCycle", "Plateau", "warmup_cosine", ...)
 * with a table of options by the names that scripts use; numbers of steps are whole. The `factor`
 * of "Lambda" is a function of the step. It gives the optimizer's groups their rates at once; those
 * that are added later keep their own. Since 1.3: "skip_aware" = false moves it on each time. */
RILLE_API rille_status rille_schedule_new(const char* kind, rille_optimizer* optimizer,
                                          const rille_value* options, rille_schedule** out,
                                          rille_error** error);
/* One after another, all of one optimizer; all but the last must have an end. The next one counts
 * from 0. The parts are as they were, and still the caller's. */
RILLE_API rille_status rille_schedule_chain(const rille_schedule* const* parts, size_t count,
                                            rille_schedule** out, rille_error** error);
RILLE_API void rille_schedule_delete(rille_schedule* schedule);

/* Moves on only if the optimizer has stepped since the last call; `moved` (may be NULL) gets 1 or
 * 0. */
RILLE_API rille_status rille_schedule_step(rille_schedule* schedule, int* moved,
                                           rille_error** error);
/* How a "Plateau" steps, and no other; `lowered` (may be NULL) gets whether a rate was. */
RILLE_API rille_status rille_schedule_step_metric(rille_schedule* schedule, double metric,
                                                  int* lowered, rille_error** error);
/* The rate of a group (from 0) at a step, whether or not that is the current one. */
RILLE_API rille_status rille_schedule_at(const rille_schedule* schedule, int64_t step, size_t group,
                                         double* out, rille_error** error);
/* The rates now in force, one a group: `out` has room for `capacity`. Where that is too little, it
 * is E_ARG, and *count says how much is needed. */
RILLE_API rille_status rille_schedule_last_lr(const rille_schedule* schedule, double* out,
                                              size_t capacity, size_t* count, rille_error** error);
/* How often it moved; 0 for a "Plateau". */
RILLE_API int64_t rille_schedule_step_count(const rille_schedule* schedule);
/* "step"; of a "Plateau" "best", "bad" and "resting". */
RILLE_API rille_status rille_schedule_state_dict(const rille_schedule* schedule,
                                                 rille_tensors** out, rille_error** error);
/* E_STATE for what does not fit; then nothing has changed. */
RILLE_API rille_status rille_schedule_load_state_dict(rille_schedule* schedule,
                                                      const rille_tensors* state,
                                                      rille_error** error);

/* The momentum of a group, or the first of its betas, which "OneCycle" moves. */
RILLE_API rille_status rille_optimizer_momentum(const rille_optimizer* optimizer, size_t group,
                                                double* out, rille_error** error);

#ifdef __cplusplus
}
#endif
#endif
