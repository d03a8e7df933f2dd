/* A C program with recipes inside: rille_c.h is all it needs.
 *   cc host.c $(pkg-config --cflags --libs rille) */
#include <rille/rille_c.h>
#include <stdio.h>
#include <string.h>

static const char* const recipe =
    "local rille = require 'rille'\n"
    "function scaled(x, by) return x * by end\n"
    "total = add(samples:sum():item(), 0.5)\n"
    "samples:add_(1)\n";

static int fail(rille_error* error) {
  fprintf(stderr, "%s\n", rille_error_report(error));
  rille_error_delete(error);
  return 1;
}

/* What the script knows as `add`. */
static rille_status add(void* userdata, const rille_value* const* arguments, size_t count,
                        rille_results* results, rille_error** error) {
  double a = 0, b = 0;
  rille_value* sum;
  rille_status status;
  if (count != 2) {
    *error = rille_error_new("E_ARG", "add takes two numbers");
    return RILLE_ERROR_ARGUMENT;
  }
  if ((status = rille_value_get_number(arguments[0], &a, error)) != RILLE_OK) return status;
  if ((status = rille_value_get_number(arguments[1], &b, error)) != RILLE_OK) return status;
  ++*(int*)userdata;
  sum = rille_value_number(a + b);
  status = rille_results_add(results, sum, error);
  rille_value_delete(sum);
  return status;
}

/* Calls the script's `scaled`, and an op by its name on what that gave. */
static int use(rille_interpreter* lua, const rille_value* samples, rille_error** error) {
  const rille_value* arguments[2];
  rille_value *by = rille_value_number(10), *scaled = NULL, *dims = rille_value_integer(0);
  rille_value *options = rille_value_table(), *keep = rille_value_boolean(1);
  rille_tensor* sums = NULL;
  const void* data = NULL;
  size_t count = 0;
  int ok;
  arguments[0] = samples;
  arguments[1] = by;
  ok = rille_call(lua, "scaled", arguments, 2, &scaled, error) == RILLE_OK &&
       rille_table_set(options, "dims", dims, error) == RILLE_OK &&
       rille_table_set(options, "keepdim", keep, error) == RILLE_OK;
  arguments[0] = scaled;
  ok = ok && rille_op("sum", arguments, 1, options, &sums, 1, &count, error) == RILLE_OK &&
       rille_tensor_data(sums, &data, error) == RILLE_OK;
  if (ok)
    printf("columns  %g %g %g  (%d dims)\n", ((const float*)data)[0], ((const float*)data)[1],
           ((const float*)data)[2], (int)rille_tensor_dims(sums));
  rille_tensor_delete(sums);
  rille_value_delete(by);
  rille_value_delete(scaled);
  rille_value_delete(dims);
  rille_value_delete(options);
  rille_value_delete(keep);
  return ok;
}

int main(void) {
  float memory[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[2] = {2, 3};
  int calls = 0;
  double number = 0;
  rille_options options;
  rille_interpreter* lua = NULL;
  rille_tensor* tensor = NULL;
  rille_value *samples, *total = NULL;
  rille_error* error = NULL;

  if (rille_abi_version() >> 16 != RILLE_ABI_MAJOR) return 2;
  rille_options_init(&options);
  options.instruction_limit = 1000000;
  if (rille_open(&options, &lua, &error) != RILLE_OK) return fail(error);
  if (rille_bind(lua, "add", add, &calls, NULL, &error) != RILLE_OK) return fail(error);
  if (rille_tensor_from_host(memory, 2, shape, NULL, RILLE_F32, 0, NULL, NULL, &tensor, &error) !=
      RILLE_OK)
    return fail(error);
  samples = rille_value_tensor(tensor);
  if (rille_set(lua, "samples", samples, &error) != RILLE_OK) return fail(error);
  if (rille_run_string(lua, recipe, strlen(recipe), "recipe", &error) != RILLE_OK)
    return fail(error);
  if (rille_get(lua, "total", &total, &error) != RILLE_OK ||
      rille_value_get_number(total, &number, &error) != RILLE_OK)
    return fail(error);
  printf("total    %g  (%d call of the host's function)\n", number, calls);
  printf("memory   %g %g  (the script added 1)\n", memory[0], memory[5]);
  if (!use(lua, samples, &error)) return fail(error);

  if (rille_run_string(lua, "add(1)", 6, "recipe", &error) != RILLE_OK)
    printf("error    %s %s: %s\n", rille_error_code(error), rille_error_where(error),
           rille_error_message(error));
  rille_error_delete(error);
  if (rille_run_string(lua, "while true do end", 17, "endless", &error) != RILLE_OK)
    printf("limit    %s\n", rille_error_code(error));
  rille_error_delete(error);

  rille_value_delete(total);
  rille_value_delete(samples);
  rille_interpreter_delete(lua);
  rille_tensor_delete(tensor);
  return 0;
}
