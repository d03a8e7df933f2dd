/* A C program with recipes inside, and a network of its own: rille_c.h is all it needs.
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

/* A layer with sizes (Linear), or without (Tanh). */
static rille_module* layer(const char* name, int64_t in, int64_t out, rille_error** error) {
  rille_value *first = rille_value_integer(in), *second = rille_value_integer(out);
  const rille_value* sizes[2];
  rille_module* made = NULL;
  sizes[0] = first;
  sizes[1] = second;
  (void)rille_layer(name, sizes, in > 0 ? 2 : 0, NULL, &made, error);
  rille_value_delete(first);
  rille_value_delete(second);
  return made;
}

static rille_tensor* mse_loss(const rille_tensor* a, const rille_tensor* b, rille_error** error) {
  rille_value *first = rille_value_tensor(a), *second = rille_value_tensor(b);
  const rille_value* both[2];
  rille_tensor* loss = NULL;
  size_t count = 0;
  both[0] = first;
  both[1] = second;
  (void)rille_op("mse_loss", both, 2, NULL, &loss, 1, &count, error);
  rille_value_delete(first);
  rille_value_delete(second);
  return loss;
}

/* One step of gradient descent. */
static int step(const rille_module* net, rille_optimizer* optimizer, const rille_tensor* x,
                const rille_tensor* y, rille_error** error) {
  rille_tensor *output = NULL, *loss = NULL;
  const int ok = rille_optimizer_zero_grad(optimizer, 0, error) == RILLE_OK &&
                 rille_module_apply(net, x, &output, error) == RILLE_OK &&
                 (loss = mse_loss(output, y, error)) != NULL &&
                 rille_tensor_backward(loss, error) == RILLE_OK &&
                 rille_optimizer_step(optimizer, error) == RILLE_OK;
  rille_tensor_delete(output);
  rille_tensor_delete(loss);
  return ok;
}

/* Learns exclusive or, with no script. */
static int learn(rille_error** error) {
  static const float in[8] = {0, 0, 0, 1, 1, 0, 1, 1}, out[4] = {0, 1, 1, 0};
  static const int64_t in_shape[2] = {4, 2}, out_shape[2] = {4, 1};
  const rille_module* const* parts;
  rille_module *layers[3] = {NULL, NULL, NULL}, *net = NULL;
  rille_tensors* parameters = NULL;
  rille_optimizer* optimizer = NULL;
  rille_value *options = rille_value_table(), *lr = rille_value_number(0.05);
  rille_tensor *x = NULL, *y = NULL, *guess = NULL;
  double guesses[4];
  int i, ok;
  rille_seed(1);
  parts = (const rille_module* const*)layers;
  ok = (layers[0] = layer("Linear", 2, 8, error)) && (layers[1] = layer("Tanh", 0, 0, error)) &&
       (layers[2] = layer("Linear", 8, 1, error)) &&
       rille_sequential(parts, 3, &net, error) == RILLE_OK &&
       rille_module_parameters(net, &parameters, error) == RILLE_OK &&
       rille_table_set(options, "lr", lr, error) == RILLE_OK &&
       rille_optimizer_new("AdamW", parameters, options, &optimizer, error) == RILLE_OK &&
       rille_tensor_of(in, 2, in_shape, RILLE_F32, &x, error) == RILLE_OK &&
       rille_tensor_of(out, 2, out_shape, RILLE_F32, &y, error) == RILLE_OK;
  for (i = 0; ok && i < 200; ++i) ok = step(net, optimizer, x, y, error);
  ok = ok && rille_module_apply(net, x, &guess, error) == RILLE_OK &&
       rille_tensor_read(guess, RILLE_F64, guesses, 4, error) == RILLE_OK;
  if (ok)
    printf("learned  %d %d %d %d  (%d parameters)\n", (int)(guesses[0] + 0.5),
           (int)(guesses[1] + 0.5), (int)(guesses[2] + 0.5), (int)(guesses[3] + 0.5),
           (int)rille_tensors_count(parameters));
  for (i = 0; i < 3; ++i) rille_module_delete(layers[i]);
  rille_module_delete(net);
  rille_tensors_delete(parameters);
  rille_optimizer_delete(optimizer);
  rille_value_delete(options);
  rille_value_delete(lr);
  rille_tensor_delete(x);
  rille_tensor_delete(y);
  rille_tensor_delete(guess);
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
  if (!learn(&error)) return fail(error);

  rille_value_delete(total);
  rille_value_delete(samples);
  rille_interpreter_delete(lua);
  rille_tensor_delete(tensor);
  return 0;
}
