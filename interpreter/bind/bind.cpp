#include "interpreter/bind/bind.h"

#include "core/fail.h"
#include "interpreter/bind/hook_scope.h"

namespace rille::bind {

void bind_all(Interpreter& in) {
  bind_tensor(in);  // first: ops make tensors, so they need their metatable
  lua::define_ops(in);
  bind_apex(in);
  bind_create(in);
  bind_autocast(in);
  bind_autograd(in);
  bind_blocks(in);
  bind_checkpoints(in);
  bind_engine(in);
  bind_files(in);
  bind_float_stats(in);
  bind_hook_scopes(in);
  bind_info(in);
  bind_inspect(in);
  bind_memory(in);
  bind_nn(in);
  bind_optim(in);
  bind_orders(in);
  bind_rehearsal(in);
  bind_saves(in);
  bind_scalers(in);
  bind_schema(in);
  bind_scopes(in);
  bind_selection(in);
  bind_system(in);
  bind_tables(in);
  bind_workers(in);
}

Device device_of(const Interpreter& in, const std::string& text) {
  return lua::granted_device(in.policy, text);
}

DType dtype_of(const std::string& text) {
  if (const auto d = parse_dtype(text)) return *d;
  throw dtype_error("'{}' is no dtype", text).hint("dtypes: " + dtype_names());
}

}  // namespace rille::bind
