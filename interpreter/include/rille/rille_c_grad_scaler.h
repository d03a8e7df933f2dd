/* The gradient scaler for C: a part of rille_c.h, which includes it. Since 1.3. */
#ifndef RILLE_RILLE_C_GRAD_SCALER_H
#define RILLE_RILLE_C_GRAD_SCALER_H

#include "rille/rille_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The scale of a loss, so that small gradients survive in f16, by the rules that scripts have. It
 * holds on to no optimizer. */
typedef struct rille_grad_scaler rille_grad_scaler;

/* With a table of options by the names that scripts use ("init_scale", "growth_interval", ...), or
 * NULL. E_SCALER_ARG for values out of range. */
RILLE_API rille_status rille_grad_scaler_new(const rille_value* options, rille_grad_scaler** out,
                                             rille_error** error);
RILLE_API void rille_grad_scaler_delete(rille_grad_scaler* scaler);

/* The loss times the scale, ready for backward; the loss itself if disabled. */
RILLE_API rille_status rille_grad_scaler_scale(rille_grad_scaler* scaler, const rille_tensor* loss,
                                               rille_tensor** out, rille_error** error);
/* Divides the gradients by the scale, for those who look at them before the step. */
RILLE_API rille_status rille_grad_scaler_unscale(rille_grad_scaler* scaler,
                                                 rille_optimizer* optimizer, rille_error** error);
/* The optimizer's step, where all gradients are finite; `stepped` (may be NULL) gets 1 or 0. */
RILLE_API rille_status rille_grad_scaler_step(rille_grad_scaler* scaler, rille_optimizer* optimizer,
                                              int* stepped, rille_error** error);
/* Ends an iteration: the scale falls, grows or stays; where `scale` is not NULL, it is that. */
RILLE_API rille_status rille_grad_scaler_update(rille_grad_scaler* scaler, const double* scale,
                                                rille_error** error);
/* 1 for a disabled one, and for NULL. */
RILLE_API double rille_grad_scaler_get_scale(const rille_grad_scaler* scaler);
/* 0 for NULL. */
RILLE_API int rille_grad_scaler_is_enabled(const rille_grad_scaler* scaler);
/* "scale", "growth_factor", "backoff_factor", "growth_interval" and "_growth_tracker"; empty if
 * disabled. E_SCALER_MID_STEP between unscale or step and update. */
RILLE_API rille_status rille_grad_scaler_state_dict(const rille_grad_scaler* scaler,
                                                    rille_tensors** out, rille_error** error);
/* E_STATE, E_SCALER_EMPTY_STATE and E_SCALER_ARG for what does not fit; then nothing has changed.
 */
RILLE_API rille_status rille_grad_scaler_load_state_dict(rille_grad_scaler* scaler,
                                                         const rille_tensors* state,
                                                         rille_error** error);

/* What the last step of an optimizer did that was made with "stats": the norms of the update and of
 * the parameters after it, and how many elements kept their value although their gradient is not 0.
 * Each place may be NULL. */
RILLE_API rille_status rille_optimizer_stats(const rille_optimizer* optimizer, double* update_norm,
                                             double* param_norm, int64_t* lost_updates,
                                             rille_error** error);

#ifdef __cplusplus
}
#endif
#endif
