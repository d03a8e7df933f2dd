/* librille for C, and for every language that calls C: the promise of which programs depend. What
 * is here keeps its meaning within one major version of rille_abi_version(); what is added makes
 * the minor one larger. Structs of options begin with their size, which their _init sets, and grow
 * at their end: a program gives as much of them as its own header knew. Each _init is a macro over
 * the _init_sized that tells the library that size; the functions under the names of the macros are
 * for programs built before 1.4, and know the first version of their struct.
 *
 * Handles are opaque and owned by who got them: each is given back once, by its own _delete, which
 * takes NULL as well. Functions that can fail return RILLE_OK or the kind of the error; where
 * `error` is not NULL, it gets an object that says the rest (NULL where there was no memory for
 * one). Results are written on success only. No exception and no longjmp leaves a function here,
 * and none may leave a callback.
 *
 * Threads: one at a time inside of an interpreter, E_BUSY for another that comes meanwhile; one at
 * a time with a handle. rille_interrupt is for any thread and signal handler. Text is UTF-8 and
 * ends with a zero. */
#ifndef RILLE_RILLE_C_H
#define RILLE_RILLE_C_H

#include <stddef.h>
#include <stdint.h>

#include "rille/api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RILLE_ABI_MAJOR 1
#define RILLE_ABI_MINOR 4

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
typedef struct rille_tensors rille_tensors;
typedef struct rille_module rille_module;
typedef struct rille_optimizer rille_optimizer;

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

/* Since 1.1. What else a callback's own error says; NULL leaves a text as it is. */
RILLE_API void rille_error_describe(rille_error* error, rille_status kind, const char* op,
                                    const char* hint);
RILLE_API void rille_error_add_fact(rille_error* error, const char* fact);
/* "shape"; "ok" for RILLE_OK, NULL for what is no status. */
RILLE_API const char* rille_status_name(rille_status status);

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
  RILLE_BOOL = 9,
  /* Since 1.3, for storage: tensors of these are converted, moved and compared. */
  RILLE_F8_E4M3 = 10,
  RILLE_F8_E5M2 = 11,
  RILLE_F8_E8M0 = 12,
  RILLE_F8_E4M3FNUZ = 13,
  RILLE_F8_E5M2FNUZ = 14,
  RILLE_F6_E3M2 = 15,
  RILLE_F6_E2M3 = 16,
  RILLE_F4_E2M1 = 17
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
RILLE_API int64_t rille_tensor_nbytes(const rille_tensor* tensor); /* since 1.3 */
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

/* Since 1.1. A copy of values of that dtype, row by row. */
RILLE_API rille_status rille_tensor_of(const void* values, size_t dims, const int64_t* shape,
                                       rille_dtype dtype, rille_tensor** out, rille_error** error);
/* All elements, row by row, converted to `dtype`; `count` must be how many there are. */
RILLE_API rille_status rille_tensor_read(const rille_tensor* tensor, rille_dtype dtype, void* out,
                                         size_t count, rille_error** error);
RILLE_API rille_status rille_tensor_item_integer(const rille_tensor* tensor, int64_t* out,
                                                 rille_error** error);
RILLE_API int rille_tensor_is_contiguous(const rille_tensor* tensor);
RILLE_API int rille_tensor_is_read_only(const rille_tensor* tensor);
/* 1 for two handles of one tensor. */
RILLE_API int rille_tensor_is(const rille_tensor* a, const rille_tensor* b);
/* The tensor itself where it is so already, else a copy; gradients travel back. */
RILLE_API rille_status rille_tensor_to_device(const rille_tensor* tensor, const char* device,
                                              rille_tensor** out, rille_error** error);
RILLE_API rille_status rille_tensor_to_dtype(const rille_tensor* tensor, rille_dtype dtype,
                                             rille_tensor** out, rille_error** error);
/* One entry a dim, from 0, the rest whole: `at` is a list of integers (positions), of tables of
 * named fields start, stop and step (each may be missing: {} is all of a dim), and of tensors (ids,
 * or a mask). A view, unless tensors are among them. */
RILLE_API rille_status rille_tensor_index(const rille_tensor* tensor, const rille_value* at,
                                          rille_tensor** out, rille_error** error);
/* Writes a tensor or a number to what rille_tensor_index looks at. */
RILLE_API rille_status rille_tensor_index_put(rille_tensor* tensor, const rille_value* at,
                                              const rille_value* value, rille_error** error);
/* Values and, below them, dtype, shape and device: a string. */
RILLE_API rille_status rille_tensor_text(const rille_tensor* tensor, rille_value** out,
                                         rille_error** error);

RILLE_API const char* rille_dtype_name(rille_dtype dtype); /* "f32"; NULL for what is none */
RILLE_API size_t rille_dtype_size(rille_dtype dtype);      /* bytes of an element, or 1 */
RILLE_API rille_status rille_dtype_parse(const char* text, rille_dtype* out, rille_error** error);
/* Where, and in which format, tensors are made when nothing else is said; one setting a thread. */
RILLE_API rille_status rille_default_device(char* out, size_t size, rille_error** error);
RILLE_API rille_status rille_set_default_device(const char* device, rille_error** error);
RILLE_API rille_dtype rille_default_dtype(void);
RILLE_API rille_status rille_set_default_dtype(rille_dtype dtype, rille_error** error);

/* ---- lists of tensors, since 1.1 -------------------------------------------------------------
 * Tensors in order, each with a name: parameters, states, what a file holds. */

RILLE_API rille_tensors* rille_tensors_new(void);
RILLE_API void rille_tensors_delete(rille_tensors* list);
/* `name` may be NULL where names don't matter. */
RILLE_API rille_status rille_tensors_add(rille_tensors* list, const char* name,
                                         const rille_tensor* tensor, rille_error** error);
RILLE_API size_t rille_tensors_count(const rille_tensors* list);
/* From 0; NULL for what isn't there. Lives until the list is changed. */
RILLE_API const char* rille_tensors_name(const rille_tensors* list, size_t i);
/* By number, and by name; E_INDEX and E_ARG for what isn't there. */
RILLE_API rille_status rille_tensors_at(const rille_tensors* list, size_t i, rille_tensor** out,
                                        rille_error** error);
RILLE_API rille_status rille_tensors_get(const rille_tensors* list, const char* name,
                                         rille_tensor** out, rille_error** error);
/* Safetensors with checksums. A save writes all of it, or leaves what was there. */
RILLE_API rille_status rille_save(const char* path, const rille_tensors* list, rille_error** error);
RILLE_API rille_status rille_load(const char* path, rille_tensors** out, rille_error** error);

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

/* Since 1.1. The same with all results, which are the caller's to delete. */
RILLE_API rille_status rille_value_call_results(const rille_value* function,
                                                const rille_value* const* arguments, size_t count,
                                                rille_results** results, rille_error** error);
RILLE_API size_t rille_results_count(const rille_results* results);
/* From 0; what isn't there is nil. */
RILLE_API rille_status rille_results_at(const rille_results* results, size_t i, rille_value** out,
                                        rille_error** error);
RILLE_API void rille_results_delete(rille_results* results);

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

/* Since 1.1. rille_op takes the names of in-place forms as well ("add_", "copy_", "zero_"): they
 * write into their first argument and give it back. */
typedef struct rille_generator {
  uint64_t seed, next; /* its whole state */
} rille_generator;
/* rille_op with random numbers of one's own: `generator` moves on. */
RILLE_API rille_status rille_op_random(const char* name, const rille_value* const* arguments,
                                       size_t argument_count, const rille_value* options,
                                       rille_generator* generator, rille_tensor** out,
                                       size_t capacity, size_t* count, rille_error** error);
/* Every op, and every layer: lists of tables with the fields that rille/schema.hpp names. */
RILLE_API rille_status rille_op_schemas(rille_value** out, rille_error** error);
RILLE_API rille_status rille_layer_schemas(rille_value** out, rille_error** error);

/* ---- gradients, since 1.1 -------------------------------------------------------------------- */

typedef int32_t rille_grad_mode;
enum {
  RILLE_GRAD_OFF = 0,
  RILLE_GRAD_ON = 1,       /* ops are recorded, so that backward can run through them */
  RILLE_GRAD_INFERENCE = 2 /* off, by the mode that scripts call inference */
};
/* Of the calling thread. Gives what it was; what is no mode changes nothing. */
RILLE_API rille_grad_mode rille_set_grad_mode(rille_grad_mode mode);
RILLE_API rille_grad_mode rille_get_grad_mode(void);

RILLE_API int rille_tensor_requires_grad(const rille_tensor* tensor);
RILLE_API int rille_tensor_is_leaf(const rille_tensor* tensor);
/* NULL takes the gradient away. */
RILLE_API rille_status rille_tensor_set_grad(rille_tensor* tensor, const rille_tensor* gradient,
                                             rille_error** error);
/* The same values, outside of every graph. */
RILLE_API rille_status rille_tensor_detach(const rille_tensor* tensor, rille_tensor** out,
                                           rille_error** error);
/* Keeps the gradient of a tensor that is no leaf. */
RILLE_API rille_status rille_tensor_retain_grad(rille_tensor* tensor, rille_error** error);
/* The callback gets the complete gradient, and may give another. `destroy` as everywhere. */
RILLE_API rille_status rille_tensor_add_hook(rille_tensor* tensor, rille_callback callback,
                                             void* userdata, rille_destroy destroy, uint64_t* id,
                                             rille_error** error);
RILLE_API rille_status rille_tensor_remove_hook(rille_tensor* tensor, uint64_t id,
                                                rille_error** error);

typedef struct rille_backward_options {
  size_t size;
  const rille_tensor* gradient; /* of the tensor itself; NULL: one, for a tensor of one element */
  const rille_tensors* inputs;  /* only these get gradients; NULL: all leaves */
  int32_t retain_graph;         /* 1: for a second backward through the same graph */
  int32_t create_graph;         /* 1: for gradients of gradients; retains the graph */
} rille_backward_options;
RILLE_API void rille_backward_options_init(rille_backward_options* options);
RILLE_API void rille_backward_options_init_sized(rille_backward_options* options,
                                                 size_t size); /* since 1.4 */
#define rille_backward_options_init(options) \
  rille_backward_options_init_sized((options), sizeof(rille_backward_options))
/* `options` may be NULL. */
RILLE_API rille_status rille_tensor_backward_with(rille_tensor* tensor,
                                                  const rille_backward_options* options,
                                                  rille_error** error);

typedef struct rille_grad_options {
  size_t size;
  const rille_tensors* grad_outputs; /* one each; NULL: ones, for outputs of one element */
  int32_t retain_graph, create_graph;
  int32_t allow_unused; /* 1: what no output depends on has no gradient */
  int32_t reserved;
} rille_grad_options;
RILLE_API void rille_grad_options_init(rille_grad_options* options);
RILLE_API void rille_grad_options_init_sized(rille_grad_options* options,
                                             size_t size); /* since 1.4 */
#define rille_grad_options_init(options) \
  rille_grad_options_init_sized((options), sizeof(rille_grad_options))
/* The gradients of the sum of `outputs`, under the names of `inputs`; rille_tensors_at gives NULL
 * where there is none. */
RILLE_API rille_status rille_grad(const rille_tensors* outputs, const rille_tensors* inputs,
                                  const rille_grad_options* options, rille_tensors** out,
                                  rille_error** error);

/* ---- modules, since 1.1 ----------------------------------------------------------------------
 * What holds parameters, buffers and other modules. A handle is one look at a module. */

/* A layer by the name that scripts use, its options as rille_op takes arguments. */
RILLE_API rille_status rille_layer(const char* name, const rille_value* const* arguments,
                                   size_t count, const rille_value* options, rille_module** out,
                                   rille_error** error);
/* One after another; they are named from "0". */
RILLE_API rille_status rille_sequential(const rille_module* const* parts, size_t count,
                                        rille_module** out, rille_error** error);
/* A module of one's own. `forward` may be NULL; it gets what rille_module_forward got, without
 * options, and gives tensors. `destroy` as everywhere. */
RILLE_API rille_status rille_module_new(const char* kind, rille_callback forward, void* userdata,
                                        rille_destroy destroy, rille_module** out,
                                        rille_error** error);
/* Makes a leaf that wants gradients of the tensor; `out` (may be NULL) gets it. */
RILLE_API rille_status rille_module_add_parameter(rille_module* module, const char* name,
                                                  const rille_tensor* tensor, rille_tensor** out,
                                                  rille_error** error);
/* Saved (where it is `persistent`) and moved with the module, but not trained. */
RILLE_API rille_status rille_module_add_buffer(rille_module* module, const char* name,
                                               const rille_tensor* tensor, int persistent,
                                               rille_error** error);
RILLE_API rille_status rille_module_add_child(rille_module* module, const char* name,
                                              const rille_module* child, rille_error** error);
/* NULL where there is no memory. */
RILLE_API rille_module* rille_module_copy(const rille_module* module);
RILLE_API void rille_module_delete(rille_module* module);
/* 1 for two handles of one module. */
RILLE_API int rille_module_is(const rille_module* a, const rille_module* b);

/* As rille_op. Results that have to be asked for, such as the weights of "MultiheadAttention"
 * (need_weights), are left out where they were not. */
RILLE_API rille_status rille_module_forward(const rille_module* module,
                                            const rille_value* const* arguments,
                                            size_t argument_count, const rille_value* options,
                                            rille_tensor** out, size_t capacity, size_t* count,
                                            rille_error** error);
/* The same of one tensor, with one result. */
RILLE_API rille_status rille_module_apply(const rille_module* module, const rille_tensor* x,
                                          rille_tensor** out, rille_error** error);

/* Each tensor once, by dotted names ("0.weight"), own ones before those of children. */
RILLE_API rille_status rille_module_parameters(const rille_module* module, rille_tensors** out,
                                               rille_error** error);
RILLE_API rille_status rille_module_buffers(const rille_module* module, rille_tensors** out,
                                            rille_error** error);
/* By dotted name, parameter or buffer. */
RILLE_API rille_status rille_module_tensor(const rille_module* module, const char* name,
                                           rille_tensor** out, rille_error** error);
RILLE_API size_t rille_module_child_count(const rille_module* module);
/* From 0; NULL for what isn't there. Lives until the module is changed. */
RILLE_API const char* rille_module_child_name(const rille_module* module, size_t i);
RILLE_API rille_status rille_module_child(const rille_module* module, size_t i, rille_module** out,
                                          rille_error** error);
/* "Linear(in=3, out=4, bias=true)", one line a module: a string. */
RILLE_API rille_status rille_module_text(const rille_module* module, rille_value** out,
                                         rille_error** error);

RILLE_API int rille_module_is_training(const rille_module* module);
/* 1 to train (modules start so), 0 to evaluate: it and its children. */
RILLE_API rille_status rille_module_set_training(rille_module* module, int on, rille_error** error);
RILLE_API rille_status rille_module_zero_grad(rille_module* module, rille_error** error);
/* Moves or casts in place; a dtype reaches what is floating point. */
RILLE_API rille_status rille_module_to_device(rille_module* module, const char* device,
                                              rille_error** error);
RILLE_API rille_status rille_module_to_dtype(rille_module* module, rille_dtype dtype,
                                             rille_error** error);
/* Parameters and the buffers that are saved, detached: their memory, not copies. */
RILLE_API rille_status rille_module_state_dict(const rille_module* module, rille_tensors** out,
                                               rille_error** error);
/* Copies values in. E_STATE lists all that does not fit: shapes always, names where `strict`.
 * `report` (may be NULL) gets a table of the lists missing and unexpected. */
RILLE_API rille_status rille_module_load_state_dict(rille_module* module,
                                                    const rille_tensors* state, int strict,
                                                    rille_value** report, rille_error** error);

/* Scales all gradients by min(1, max / (norm + 1e-6)), `p` being which norm (2; infinity is one);
 * `norm` (may be NULL) gets that of before. `error_if_nonfinite`: E_STATE where it is not finite.
 */
RILLE_API rille_status rille_clip_grad_norm(const rille_tensors* parameters, double max, double p,
                                            int error_if_nonfinite, double* norm,
                                            rille_error** error);
/* Cuts each element of the gradients to [-max, max]. */
RILLE_API rille_status rille_clip_grad_value(const rille_tensors* parameters, double max,
                                             rille_error** error);

/* ---- optimizers, since 1.1 -------------------------------------------------------------------
 * The same that scripts have: equal gradients give equal bits. */

/* "SGD", "Adam" or "AdamW" with a table of options by the names that scripts use (NULL: none). */
RILLE_API rille_status rille_optimizer_new(const char* kind, const rille_tensors* parameters,
                                           const rille_value* options, rille_optimizer** out,
                                           rille_error** error);
RILLE_API rille_status rille_optimizer_add_group(rille_optimizer* optimizer,
                                                 const rille_tensors* parameters,
                                                 const rille_value* options, rille_error** error);
RILLE_API void rille_optimizer_delete(rille_optimizer* optimizer);
/* Takes all gradients away; makes them 0 where `keep`. */
RILLE_API rille_status rille_optimizer_zero_grad(rille_optimizer* optimizer, int keep,
                                                 rille_error** error);
/* Updates every parameter that has a gradient. */
RILLE_API rille_status rille_optimizer_step(rille_optimizer* optimizer, rille_error** error);
RILLE_API int64_t rille_optimizer_step_count(const rille_optimizer* optimizer);
RILLE_API size_t rille_optimizer_groups(const rille_optimizer* optimizer);
RILLE_API rille_status rille_optimizer_lr(const rille_optimizer* optimizer, size_t group,
                                          double* out, rille_error** error);
/* Of all groups, and of one, from 0. */
RILLE_API rille_status rille_optimizer_set_lr(rille_optimizer* optimizer, double lr,
                                              rille_error** error);
RILLE_API rille_status rille_optimizer_set_group_lr(rille_optimizer* optimizer, size_t group,
                                                    double lr, rille_error** error);
/* The state by number of the parameter ("0.exp_avg", "0.step"), the tensors themselves. */
RILLE_API rille_status rille_optimizer_state_dict(const rille_optimizer* optimizer,
                                                  rille_tensors** out, rille_error** error);
/* Copies. E_STATE for names or shapes that do not fit; then nothing has changed. */
RILLE_API rille_status rille_optimizer_load_state_dict(rille_optimizer* optimizer,
                                                       const rille_tensors* state,
                                                       rille_error** error);

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
  /* Since 1.3: where scripts may put tensors, the first by default ("cpu:1 cpu"); NULL: any. */
  const char* devices;
} rille_options;

RILLE_API void rille_options_init(rille_options* options);
RILLE_API void rille_options_init_sized(rille_options* options, size_t size); /* since 1.4 */
#define rille_options_init(options) rille_options_init_sized((options), sizeof(rille_options))
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
/* From any thread or signal handler, of an interpreter that is there. */
RILLE_API void rille_interrupt(rille_interpreter* interpreter);

/* Since 1.1. Closes it now, while the handle stays: E_BUSY while a run is under way, from inside as
 * well; afterwards it is E_CLOSED to use. */
RILLE_API rille_status rille_interpreter_close(rille_interpreter* interpreter, rille_error** error);
/* With what the script's `arg` and `...` are. */
RILLE_API rille_status rille_run_string_with(rille_interpreter* interpreter, const char* code,
                                             size_t size, const char* chunk,
                                             const char* const* arguments, size_t count,
                                             rille_error** error);
/* With all results, which are the caller's to delete. */
RILLE_API rille_status rille_call_results(rille_interpreter* interpreter, const char* name,
                                          const rille_value* const* arguments, size_t count,
                                          rille_results** results, rille_error** error);

#ifdef __cplusplus
}
#endif

/* Parts of this interface that stand in headers of their own. */
#include "rille/rille_c_autocast.h"
#include "rille/rille_c_checkpoint.h"
#include "rille/rille_c_data.h"
#include "rille/rille_c_grad_scaler.h"
#include "rille/rille_c_schedules.h"
#endif
