// The C interface: optimizers by name, their options from a table.
#include "interpreter/api/c_optimizer.h"
#include "interpreter/api/c_options.h"

namespace rille::capi {
namespace {

using v1::Error, v1::ErrorKind;

namespace optim = v1::optim;

void read_dtype(Options& read, std::optional<v1::Dtype>& to) {
  std::string name;
  read("state_dtype", name);
  if (!name.empty()) to = v1::parse_dtype(name);
}
void read_betas(Options& read, std::array<double, 2>& to) {
  std::vector<double> betas(to.begin(), to.end());
  read("betas", betas);
  if (betas.size() != 2)
    throw Error(ErrorKind::argument, "E_OPTION", "'betas' must be two numbers");
  to = {betas[0], betas[1]};
}

template <class O>
O options_from(const rille_value* from) {
  O o;
  Options read(from);
  read("lr", o.lr);
  read("weight_decay", o.weight_decay);
  read("maximize", o.maximize);
  read("master_weights", o.master_weights);
  read_dtype(read, o.state_dtype);
  read("stochastic_rounding", o.stochastic_rounding);
  read("stats", o.stats);
  if constexpr (requires { o.momentum; }) {
    read("momentum", o.momentum);
    read("dampening", o.dampening);
    read("nesterov", o.nesterov);
  } else {
    read_betas(read, o.betas);
    read("eps", o.eps);
    read("amsgrad", o.amsgrad);
  }
  read.refuse_others();
  return o;
}

rille_optimizer make(std::string_view kind, const std::vector<v1::Tensor>& parameters,
                     const rille_value* options) {
  if (kind == "SGD") return {optim::SGD(parameters, options_from<optim::SGDOptions>(options))};
  if (kind == "Adam") return {optim::Adam(parameters, options_from<optim::AdamOptions>(options))};
  if (kind == "AdamW")
    return {optim::AdamW(parameters, options_from<optim::AdamWOptions>(options))};
  throw Error(ErrorKind::argument, "E_ARG", "there is no optimizer '" + std::string(kind) + "'",
              "SGD, Adam and AdamW are there");
}

void add_group(optim::SGD& o, const std::vector<v1::Tensor>& p, const rille_value* options) {
  o.add_group(p, options_from<optim::SGDOptions>(options));
}
void add_group(optim::Adam& o, const std::vector<v1::Tensor>& p, const rille_value* options) {
  o.add_group(p, options_from<optim::AdamOptions>(options));
}
void add_group(optim::AdamW& o, const std::vector<v1::Tensor>& p, const rille_value* options) {
  o.add_group(p, options_from<optim::AdamWOptions>(options));
}

}  // namespace
}  // namespace rille::capi

using namespace rille::capi;

rille_status rille_optimizer_new(const char* kind, const rille_tensors* parameters,
                                 const rille_value* options, rille_optimizer** out,
                                 rille_error** error) {
  return guarded(error, [&] {
    rille_optimizer*& place = given(out, "the place for the optimizer");
    place = new rille_optimizer(make(text(kind, "the kind"), tensors_in(parameters), options));
  });
}
rille_status rille_optimizer_add_group(rille_optimizer* o, const rille_tensors* parameters,
                                       const rille_value* options, rille_error** error) {
  return guarded(error, [&] {
    std::visit([&](auto& kind) { add_group(kind, tensors_in(parameters), options); },
               given(o, "the optimizer").held);
  });
}
void rille_optimizer_delete(rille_optimizer* o) { delete o; }

rille_status rille_optimizer_zero_grad(rille_optimizer* o, int keep, rille_error** error) {
  return guarded(error, [&] { optimizer_in(o).zero_grad(keep == 0); });
}
rille_status rille_optimizer_step(rille_optimizer* o, rille_error** error) {
  return guarded(error, [&] { optimizer_in(o).step(); });
}
int64_t rille_optimizer_step_count(const rille_optimizer* o) {
  return o ? base(*o).step_count() : 0;
}
rille_status rille_optimizer_stats(const rille_optimizer* o, double* update_norm,
                                   double* param_norm, int64_t* lost_updates, rille_error** error) {
  return guarded(error, [&] {
    const rille::v1::optim::StepStats stats = optimizer_in(o).stats();
    if (update_norm) *update_norm = stats.update_norm;
    if (param_norm) *param_norm = stats.param_norm;
    if (lost_updates) *lost_updates = stats.lost_updates;
  });
}
size_t rille_optimizer_groups(const rille_optimizer* o) { return o ? base(*o).groups() : 0; }

rille_status rille_optimizer_lr(const rille_optimizer* o, size_t group, double* out,
                                rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = optimizer_in(o).lr(group); });
}
rille_status rille_optimizer_set_lr(rille_optimizer* o, double lr, rille_error** error) {
  return guarded(error, [&] { optimizer_in(o).set_lr(lr); });
}
rille_status rille_optimizer_set_group_lr(rille_optimizer* o, size_t group, double lr,
                                          rille_error** error) {
  return guarded(error, [&] { optimizer_in(o).set_lr(group, lr); });
}

rille_status rille_optimizer_state_dict(const rille_optimizer* o, rille_tensors** out,
                                        rille_error** error) {
  return give(out, error, [&] { return optimizer_in(o).state_dict(); });
}
rille_status rille_optimizer_load_state_dict(rille_optimizer* o, const rille_tensors* state,
                                             rille_error** error) {
  return guarded(error, [&] { optimizer_in(o).load_state_dict(list_in(state)); });
}
