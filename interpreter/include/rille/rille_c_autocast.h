/* Autocast for C: a part of rille_c.h, which includes it. Since 1.3. */
#ifndef RILLE_RILLE_C_AUTOCAST_H
#define RILLE_RILLE_C_AUTOCAST_H

#include "rille/rille_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a scope of the calling thread in which ops take their arguments in the dtype that suits
 * them. The options are a table with the names that scripts use (device, dtype, enabled, cache,
 * policy, rules, lenient), or NULL. *before gets what rille_autocast_leave wants; scopes end in the
 * reverse order of their beginning. E_AMP_DEVICE, E_AMP_DTYPE. */
RILLE_API rille_status rille_autocast_enter(const rille_value* options, uint32_t* before,
                                            rille_error** error);
RILLE_API void rille_autocast_leave(uint32_t before);

/* Whether ops of the device are cast on this thread now; if so, `dtype` (may be NULL) gets to
 * what. */
RILLE_API int rille_autocast_active(const char* device, rille_dtype* dtype);
/* 1 where ops of the device can be cast to the dtype. Where they can't, `reason` (NULL for none) of
 * `size` bytes gets why, cut where it is longer. */
RILLE_API int rille_autocast_available(const char* device, rille_dtype dtype, char* reason,
                                       size_t size);

#ifdef __cplusplus
}
#endif
#endif
