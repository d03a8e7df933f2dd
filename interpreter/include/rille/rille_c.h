/* librille for C, and for every language that calls C: the promise of which programs depend. What
 * is here keeps its meaning within one major version of rille_abi_version(); what is added makes
 * the minor one larger.
 *
 * Handles are opaque and owned by who got them: each is given back once, by its own _delete, which
 * takes NULL as well. Functions that can fail return RILLE_OK or the kind of the error; where
 * `error` is not NULL, it gets an object that says the rest (NULL where there was no memory for
 * one). Results are written on success only. No exception and no longjmp leaves a function here,
 * and none may leave a callback.
 *
 * Threads: one at a time inside of an interpreter, E_BUSY for another that comes meanwhile; one at
 * a time with a handle. rille_interrupt is for any thread. Text is UTF-8 and ends with a zero. */
#ifndef RILLE_RILLE_C_H
#define RILLE_RILLE_C_H

#include <stddef.h>
#include <stdint.h>

#include "rille/api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RILLE_ABI_MAJOR 1
#define RILLE_ABI_MINOR 0

/* major * 65536 + minor of the library that runs: its major must be the header's, its minor at
 * least the header's. */
RILLE_API uint32_t rille_abi_version(void);
/* "0.1.0" */
RILLE_API const char* rille_version(void);

typedef struct rille_interpreter rille_interpreter;
typedef struct rille_value rille_value;
typedef struct rille_results rille_results;
typedef struct rille_tensor rille_tensor;
typedef struct rille_error rille_error;

/* ---- errors ---------------------------------------------------------------------------------- */

typedef int32_t rille_status;
enum {
  RILLE_OK = 0,
  RILLE_ERROR_ARGUMENT = 1,
  RILLE_ERROR_SHAPE = 2,
  RILLE_ERROR_DTYPE = 3,
  RILLE_ERROR_DEVICE = 4,
  RILLE_ERROR_STATE = 5,
  RILLE_ERROR_MEMORY = 6,
  RILLE_ERROR_DATA = 7,
  RILLE_ERROR_DISTRIBUTED = 8,
  RILLE_ERROR_INTERRUPT = 9,
  RILLE_ERROR_INTERNAL = 10
};

/* For callbacks: NULL where there is no memory. `code` such as "E_FORMAT"; NULL means E_HOST. */
RILLE_API rille_error* rille_error_new(const char* code, const char* message);
RILLE_API void rille_error_delete(rille_error* error);
RILLE_API rille_status rille_error_status(const rille_error* error);
/* Texts live as long as the error, and are "" where there is nothing to say. */
RILLE_API const char* rille_error_code(const rille_error* error);      /* "E_SHAPE" */
RILLE_API const char* rille_error_op(const rille_error* error);        /* "matmul" */
RILLE_API const char* rille_error_message(const rille_error* error);   /* what is wrong */
RILLE_API const char* rille_error_hint(const rille_error* error);      /* what to do instead */
RILLE_API const char* rille_error_where(const rille_error* error);     /* "fit.lua:3" */
RILLE_API const char* rille_error_traceback(const rille_error* error); /* the script's calls */
RILLE_API const char* rille_error_report(const rille_error* error);    /* all of it, for people */
RILLE_API size_t rille_error_fact_count(const rille_error* error);
RILLE_API const char* rille_error_fact(const rille_error* error, size_t i); /* from 0 */

/* ---- tensors ---------------------------------------------------------------------------------
 * A handle is one look at a tensor; a copy of it looks at the same values. */

typedef int32_t rille_dtype;
enum {
  RILLE_F64 = 0,
  RILLE_F32 = 1,
  RILLE_F16 = 2,
  RILLE_BF16 = 3,
  RILLE_I64 = 4,
  RILLE_I32 = 5,
  RILLE_I16 = 6,
  RILLE_I8 = 7,
  RILLE_U8 = 8,
  RILLE_BOOL = 9
};

/* Calls once, on whatever thread, when nothing looks at the memory any more. */
typedef void (*rille_deleter)(void* data, void* userdata);

/* The host's memory, not copied. `strides` count elements; NULL means row by row. `deleter` may be
 * NULL; the memory must then outlive all that looks at it. Writing in place to what is `read_only`
 * is E_READONLY. On failure the memory is the caller's, and the deleter is not called. */
RILLE_API rille_status rille_tensor_from_host(void* data, size_t dims, const int64_t* shape,
                                              const int64_t* strides, rille_dtype dtype,
                                              int read_only, rille_deleter deleter, void* userdata,
                                              rille_tensor** out, rille_error** error);
/* `managed` is a DLManagedTensorVersioned*, or in the legacy form a DLManagedTensor* (DLPack); it
 * is taken on success. */
RILLE_API rille_status rille_tensor_from_dlpack(void* managed, rille_tensor** out,
                                                rille_error** error);
RILLE_API rille_status rille_tensor_from_dlpack_legacy(void* managed, rille_tensor** out,
                                                       rille_error** error);
/* The caller calls the struct's own deleter. */
RILLE_API rille_status rille_tensor_to_dlpack(const rille_tensor* tensor, void** managed,
                                              rille_error** error);
RILLE_API rille_status rille_tensor_to_dlpack_legacy(const rille_tensor* tensor, void** managed,
                                                     rille_error** error);
/* NULL where there is no memory. */
RILLE_API rille_tensor* rille_tensor_copy(const rille_tensor* tensor);
RILLE_API void rille_tensor_delete(rille_tensor* tensor);

RILLE_API size_t rille_tensor_dims(const rille_tensor* tensor);
RILLE_API rille_dtype rille_tensor_dtype(const rille_tensor* tensor);
RILLE_API int64_t rille_tensor_numel(const rille_tensor* tensor);
/* Both write `dims` numbers. */
RILLE_API rille_status rille_tensor_shape(const rille_tensor* tensor, int64_t* out,
                                          rille_error** error);
RILLE_API rille_status rille_tensor_strides(const rille_tensor* tensor, int64_t* out,
                                            rille_error** error);
/* "cpu:0": at most `size` bytes with the zero. */
RILLE_API rille_status rille_tensor_device(const rille_tensor* tensor, char* out, size_t size,
                                           rille_error** error);
/* The first element, to read; and to write, which is E_READONLY for what may only be read. */
RILLE_API rille_status rille_tensor_data(const rille_tensor* tensor, const void** out,
                                         rille_error** error);
RILLE_API rille_status rille_tensor_mutable_data(rille_tensor* tensor, void** out,
                                                 rille_error** error);
/* The only element, converted. */
RILLE_API rille_status rille_tensor_item(const rille_tensor* tensor, double* out,
                                         rille_error** error);
RILLE_API rille_status rille_tensor_set_requires_grad(rille_tensor* tensor, int on,
                                                      rille_error** error);
/* Of a tensor of one element: adds gradients to the leaves it was made of. */
RILLE_API rille_status rille_tensor_backward(rille_tensor* tensor, rille_error** error);
/* NULL where there is none. */
RILLE_API rille_status rille_tensor_grad(const rille_tensor* tensor, rille_tensor** out,
                                         rille_error** error);

/* ---- values ----------------------------------------------------------------------------------
 * What travels to scripts and back. Those that make one give NULL where there is no memory. */

typedef int32_t rille_type;
enum {
  RILLE_NIL = 0,
  RILLE_BOOLEAN = 1,
  RILLE_INTEGER = 2,
  RILLE_NUMBER = 3,
  RILLE_STRING = 4,
  RILLE_TENSOR = 5,
  RILLE_TABLE = 6,
  RILLE_FUNCTION = 7
};

/* A function of the host's. It adds what it gives to `results`. Where it fails, it returns anything
 * but RILLE_OK, and may set *error, which is taken from it. Arguments are the library's. */
typedef rille_status (*rille_callback)(void* userdata, const rille_value* const* arguments,
                                       size_t count, rille_results* results, rille_error** error);
typedef void (*rille_destroy)(void* userdata);

RILLE_API rille_value* rille_value_nil(void);
RILLE_API rille_value* rille_value_boolean(int yes);
RILLE_API rille_value* rille_value_integer(int64_t n);
RILLE_API rille_value* rille_value_number(double n);
RILLE_API rille_value* rille_value_string(const char* text, size_t size);
RILLE_API rille_value* rille_value_tensor(const rille_tensor* tensor);
RILLE_API rille_value* rille_value_table(void);
/* `destroy` (NULL for none) is called once with `userdata` when nothing can call it any more; on
 * failure at once. `name` is what errors call it. */
RILLE_API rille_value* rille_value_function(rille_callback callback, void* userdata,
                                            rille_destroy destroy, const char* name);
RILLE_API rille_value* rille_value_copy(const rille_value* value);
RILLE_API void rille_value_delete(rille_value* value);

RILLE_API rille_type rille_value_type(const rille_value* value);
/* What it holds; E_TYPE where that is something else. An integer is a number, too, and a number
 * without a fraction an integer. */
RILLE_API rille_status rille_value_get_boolean(const rille_value* value, int* out,
                                               rille_error** error);
RILLE_API rille_status rille_value_get_integer(const rille_value* value, int64_t* out,
                                               rille_error** error);
RILLE_API rille_status rille_value_get_number(const rille_value* value, double* out,
                                              rille_error** error);
/* The text lives as long as the value, and has a zero behind its end; `size` may be NULL. */
RILLE_API rille_status rille_value_get_string(const rille_value* value, const char** out,
                                              size_t* size, rille_error** error);
RILLE_API rille_status rille_value_get_tensor(const rille_value* value, rille_tensor** out,
                                              rille_error** error);
/* Tables: positions from 1, as scripts count, and named fields. What isn't there is nil. Values are
 * copied in and out; a copy of a table is another table. */
RILLE_API rille_status rille_table_append(rille_value* table, const rille_value* value,
                                          rille_error** error);
RILLE_API rille_status rille_table_set(rille_value* table, const char* key,
                                       const rille_value* value, rille_error** error);
RILLE_API rille_status rille_table_at(const rille_value* table, size_t position, rille_value** out,
                                      rille_error** error);
RILLE_API rille_status rille_table_get(const rille_value* table, const char* key, rille_value** out,
                                       rille_error** error);
/* How many positions; how many named fields, and the name of one (from 0, in the order of names);
 * 0 and NULL for what is no table. */
RILLE_API size_t rille_table_length(const rille_value* table);
RILLE_API size_t rille_table_field_count(const rille_value* table);
RILLE_API const char* rille_table_field_name(const rille_value* table, size_t i);
/* Calls a function; `result` gets its first result. */
RILLE_API rille_status rille_value_call(const rille_value* function,
                                        const rille_value* const* arguments, size_t count,
                                        rille_value** result, rille_error** error);
/* For callbacks: one more result. */
RILLE_API rille_status rille_results_add(rille_results* results, const rille_value* value,
                                         rille_error** error);

/* ---- ops -------------------------------------------------------------------------------------
 * Calls an op by the name that scripts use: "matmul", "sum", "cross_entropy". `arguments` come by
 * position, `options` (NULL, or a table) by name; dims and positions count from 0. dtypes, devices
 * and words are strings, lists are tables, a number may stand for a tensor where the op allows it.
 * `out` has room for `capacity` tensors and gets `*count` of them; where it has too little room,
 * that is E_ARG, and *count says how much is needed. */
RILLE_API rille_status rille_op(const char* name, const rille_value* const* arguments,
                                size_t argument_count, const rille_value* options,
                                rille_tensor** out, size_t capacity, size_t* count,
                                rille_error** error);
/* Starts the calling thread's random numbers anew. */
RILLE_API void rille_seed(uint64_t seed);

/* ---- interpreters ---------------------------------------------------------------------------- */

typedef void (*rille_sink)(void* userdata, const char* text, size_t size);

/* Set by rille_options_init, which knows the defaults; `size` tells versions apart. Limits are per
 * run or call, 0 is none. */
typedef struct rille_options {
  size_t size;
  int32_t sandbox; /* 1: no files, processes, environment */
  int32_t threads; /* that ops may use; 0: as many as usual */
  int64_t memory_limit, lua_memory_limit, tensor_memory_limit; /* bytes */
  int64_t instruction_limit;
  double time_limit; /* seconds */
  uint64_t seed;
  int32_t interruptible; /* 1: rille_interrupt works */
  int32_t reserved;
  rille_sink on_print, on_log; /* NULL: the process's own streams */
  void* sink_userdata;
} rille_options;

RILLE_API void rille_options_init(rille_options* options);
/* `options` may be NULL. */
RILLE_API rille_status rille_open(const rille_options* options, rille_interpreter** out,
                                  rille_error** error);
/* Closes it; one that is running stops, and closes when it has left. */
RILLE_API void rille_interpreter_delete(rille_interpreter* interpreter);

RILLE_API rille_status rille_run_file(rille_interpreter* interpreter, const char* path,
                                      const char* const* arguments, size_t count,
                                      rille_error** error);
RILLE_API rille_status rille_run_string(rille_interpreter* interpreter, const char* code,
                                        size_t size, const char* chunk, rille_error** error);
/* Calls a global function; `result` (may be NULL) gets its first result. */
RILLE_API rille_status rille_call(rille_interpreter* interpreter, const char* name,
                                  const rille_value* const* arguments, size_t count,
                                  rille_value** result, rille_error** error);
/* Globals, by names such as "game.score". */
RILLE_API rille_status rille_set(rille_interpreter* interpreter, const char* name,
                                 const rille_value* value, rille_error** error);
RILLE_API rille_status rille_get(rille_interpreter* interpreter, const char* name,
                                 rille_value** out, rille_error** error);
RILLE_API rille_status rille_bind(rille_interpreter* interpreter, const char* name,
                                  rille_callback callback, void* userdata, rille_destroy destroy,
                                  rille_error** error);
/* From any thread; not for signal handlers. */
RILLE_API void rille_interrupt(rille_interpreter* interpreter);

#ifdef __cplusplus
}
#endif
#endif
