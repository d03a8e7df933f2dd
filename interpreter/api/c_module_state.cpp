// The C interface: what modules hold, modes, moves, states; clipping.
#include "interpreter/api/c_handles.h"

using rille::capi::dtype_of, rille::capi::give, rille::capi::given, rille::capi::guarded,
    rille::capi::list_in, rille::capi::made, rille::capi::tensors_in, rille::capi::text;
using rille::v1::Convert, rille::v1::Error, rille::v1::ErrorKind, rille::v1::Table,
    rille::v1::Tensor, rille::v1::Value;

namespace nn = rille::v1::nn;

namespace {

const nn::Module& module_in(const rille_module* m) { return given(m, "the module").module; }

Value table_of(const nn::LoadReport& report) {
  Table t;
  t.named.emplace("missing", Convert<std::vector<std::string>>::to(report.missing));
  t.named.emplace("unexpected", Convert<std::vector<std::string>>::to(report.unexpected));
  return t;
}

}  // namespace

rille_module* rille_module_copy(const rille_module* m) {
  return made([&] { return m ? new rille_module{m->module} : nullptr; });
}
void rille_module_delete(rille_module* m) { delete m; }
int rille_module_is(const rille_module* a, const rille_module* b) {
  return a && b && a->module.is(b->module);
}

rille_status rille_module_parameters(const rille_module* m, rille_tensors** out,
                                     rille_error** error) {
  return give(out, error, [&] { return module_in(m).named_parameters(); });
}
rille_status rille_module_buffers(const rille_module* m, rille_tensors** out, rille_error** error) {
  return give(out, error, [&] { return module_in(m).named_buffers(); });
}
rille_status rille_module_tensor(const rille_module* m, const char* name, rille_tensor** out,
                                 rille_error** error) {
  return give(out, error, [&] { return module_in(m).tensor(text(name, "the name")); });
}
rille_status rille_module_text(const rille_module* m, rille_value** out, rille_error** error) {
  return give(out, error, [&] { return Value(to_string(module_in(m))); });
}

int rille_module_is_training(const rille_module* m) { return m && m->module.is_training(); }
rille_status rille_module_set_training(rille_module* m, int on, rille_error** error) {
  return guarded(error, [&] { module_in(m).set_training(on != 0); });
}
rille_status rille_module_zero_grad(rille_module* m, rille_error** error) {
  return guarded(error, [&] { module_in(m).zero_grad(); });
}
rille_status rille_module_to_device(rille_module* m, const char* device, rille_error** error) {
  return guarded(error,
                 [&] { module_in(m).move_to(rille::v1::Device(text(device, "the device"))); });
}
rille_status rille_module_to_dtype(rille_module* m, rille_dtype dtype, rille_error** error) {
  return guarded(error, [&] { module_in(m).move_to(dtype_of(dtype)); });
}

rille_status rille_module_state_dict(const rille_module* m, rille_tensors** out,
                                     rille_error** error) {
  return give(out, error, [&] { return module_in(m).state_dict(); });
}
rille_status rille_module_load_state_dict(rille_module* m, const rille_tensors* state, int strict,
                                          rille_value** report, rille_error** error) {
  return guarded(error, [&] {
    auto handle = std::make_unique<rille_value>();
    handle->value = table_of(module_in(m).load_state_dict(list_in(state), strict != 0));
    if (report) *report = handle.release();
  });
}

rille_status rille_clip_grad_norm(const rille_tensors* parameters, double max, double p,
                                  int error_if_nonfinite, double* norm, rille_error** error) {
  return guarded(error, [&] {
    const Tensor before = nn::clip_grad_norm_(
        tensors_in(parameters), max, {.p = p, .error_if_nonfinite = error_if_nonfinite != 0});
    if (norm) *norm = before.item<double>();
  });
}
rille_status rille_clip_grad_value(const rille_tensors* parameters, double max,
                                   rille_error** error) {
  return guarded(error, [&] { nn::clip_grad_value_(tensors_in(parameters), max); });
}
