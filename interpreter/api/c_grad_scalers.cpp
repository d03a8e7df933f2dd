// The C interface: gradient scalers, their options from a table.
#include "interpreter/api/c_optimizer.h"
#include "interpreter/api/c_options.h"
#include "rille/grad_scaler.hpp"

struct rille_grad_scaler {
  rille::v1::amp::GradScaler scaler;
};

namespace rille::capi {
namespace {

using v1::amp::GradScaler;

void read_device(Options& read, std::optional<v1::Device>& to) {
  std::string name;
  read("device", name);
  // One that is not there disables the scaler: v1::Device would refuse its name.
  if (name.rfind("cuda", 0) == 0)
    to = v1::Device(v1::Device::Type::cuda);
  else if (!name.empty())
    to = v1::Device(name);
}

v1::amp::GradScalerOptions options_from(const rille_value* from) {
  v1::amp::GradScalerOptions o;
  Options read(from);
  read_device(read, o.device);
  read("init_scale", o.init_scale);
  read("growth_factor", o.growth_factor);
  read("backoff_factor", o.backoff_factor);
  read("growth_interval", o.growth_interval);
  read("enabled", o.enabled);
  read("dynamic", o.dynamic);
  read("min_scale", o.min_scale);
  read("max_scale", o.max_scale);
  read("hysteresis", o.hysteresis);
  read("group", o.group);
  read("force", o.force);
  read("allow_empty", o.allow_empty);
  read.refuse_others();
  return o;
}

template <class Handle>
auto& scaler_in(Handle* s) {
  return given(s, "the scaler").scaler;
}

}  // namespace
}  // namespace rille::capi

using namespace rille::capi;

rille_status rille_grad_scaler_new(const rille_value* options, rille_grad_scaler** out,
                                   rille_error** error) {
  return guarded(error, [&] {
    rille_grad_scaler*& place = given(out, "the place for the scaler");
    place = new rille_grad_scaler{GradScaler(options_from(options))};
  });
}
void rille_grad_scaler_delete(rille_grad_scaler* s) { delete s; }

rille_status rille_grad_scaler_scale(rille_grad_scaler* s, const rille_tensor* loss,
                                     rille_tensor** out, rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the tensor");
    place = new rille_tensor{scaler_in(s).scale(given(loss, "the loss").tensor)};
  });
}
rille_status rille_grad_scaler_unscale(rille_grad_scaler* s, rille_optimizer* optimizer,
                                       rille_error** error) {
  return guarded(error, [&] { scaler_in(s).unscale_(optimizer_in(optimizer)); });
}
rille_status rille_grad_scaler_step(rille_grad_scaler* s, rille_optimizer* optimizer, int* stepped,
                                    rille_error** error) {
  return guarded(error, [&] {
    const bool did = scaler_in(s).step(optimizer_in(optimizer));
    if (stepped) *stepped = did;
  });
}
rille_status rille_grad_scaler_update(rille_grad_scaler* s, const double* scale,
                                      rille_error** error) {
  return guarded(error, [&] { scaler_in(s).update(scale ? std::optional(*scale) : std::nullopt); });
}
double rille_grad_scaler_get_scale(const rille_grad_scaler* s) {
  return s ? s->scaler.get_scale() : 1;
}
int rille_grad_scaler_is_enabled(const rille_grad_scaler* s) {
  return s ? s->scaler.is_enabled() : 0;
}
rille_status rille_grad_scaler_state_dict(const rille_grad_scaler* s, rille_tensors** out,
                                          rille_error** error) {
  return give(out, error, [&] { return scaler_in(s).state_dict(); });
}
rille_status rille_grad_scaler_load_state_dict(rille_grad_scaler* s, const rille_tensors* state,
                                               rille_error** error) {
  return guarded(error, [&] { scaler_in(s).load_state_dict(list_in(state)); });
}
