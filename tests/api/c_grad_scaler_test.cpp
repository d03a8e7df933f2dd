// The C interface: a training loop with a scaler, what it refuses, what it saves.
#include <cmath>

#include "api/c_owned.h"

namespace {

using namespace rille_c;

Owned<rille_grad_scaler> scaler_with(const Owned<rille_value>& options) {
  rille_grad_scaler* made = nullptr;
  REQUIRE(rille_grad_scaler_new(options.get(), &made, nullptr) == RILLE_OK);
  return owned(made);
}
Owned<rille_value> small() {
  return table_of({{"init_scale", rille_value_number(4)},
                   {"growth_interval", rille_value_integer(2)},
                   {"hysteresis", rille_value_integer(1)}});
}

// p of two elements, SGD with lr = 1/8.
struct Parameter {
  Owned<rille_tensor> p = tensor_of({1, -2}, {2});
  Owned<rille_optimizer> opt;
  Parameter() {
    REQUIRE(rille_tensor_set_requires_grad(p.get(), 1, nullptr) == RILLE_OK);
    const auto options = table_of({{"lr", rille_value_number(0.125)}});
    rille_optimizer* made = nullptr;
    REQUIRE(rille_optimizer_new("SGD", list_of({p.get()}).get(), options.get(), &made, nullptr) ==
            RILLE_OK);
    opt = owned(made);
  }
  // loss = slope * sum(p), scaled, and its backward.
  void backward(rille_grad_scaler* scaler, double slope) const {
    const auto factor = tensor_of({slope}, {1});
    const auto loss = op("sum", {op("mul", {p.get(), factor.get()}).get()});
    rille_tensor* scaled = nullptr;
    REQUIRE(rille_grad_scaler_scale(scaler, loss.get(), &scaled, nullptr) == RILLE_OK);
    const auto held = owned(scaled);
    REQUIRE(rille_tensor_backward(held.get(), nullptr) == RILLE_OK);
  }
  int go(rille_grad_scaler* scaler, double slope) const {
    int stepped = -1;
    REQUIRE(rille_optimizer_zero_grad(opt.get(), 0, nullptr) == RILLE_OK);
    backward(scaler, slope);
    REQUIRE(rille_grad_scaler_step(scaler, opt.get(), &stepped, nullptr) == RILLE_OK);
    REQUIRE(rille_grad_scaler_update(scaler, nullptr, nullptr) == RILLE_OK);
    return stepped;
  }
};

}  // namespace

TEST_CASE("C: a scaler grows, falls and skips") {
  const auto scaler = scaler_with(small());
  const Parameter it;
  CHECK(it.go(scaler.get(), 1) == 1);
  CHECK(it.go(scaler.get(), 1) == 1);
  CHECK(rille_grad_scaler_get_scale(scaler.get()) == 8);
  CHECK(it.go(scaler.get(), INFINITY) == 0);
  CHECK(rille_grad_scaler_get_scale(scaler.get()) == 4);
  CHECK(values_of(it.p.get()) == std::vector<double>{0.75, -2.25});
  const double fixed = 64;
  CHECK(rille_grad_scaler_update(scaler.get(), &fixed, nullptr) == RILLE_OK);
  CHECK(rille_grad_scaler_get_scale(scaler.get()) == 64);
  it.backward(scaler.get(), 1);
  CHECK(rille_grad_scaler_unscale(scaler.get(), it.opt.get(), nullptr) == RILLE_OK);
  ErrorPlace e;
  CHECK(rille_grad_scaler_unscale(scaler.get(), it.opt.get(), e) == RILLE_ERROR_STATE);
  CHECK(e.code() == "E_SCALER_UNSCALE_TWICE");
}

TEST_CASE("C: a scaler's state") {
  const auto first = scaler_with(small()), second = scaler_with(small());
  const Parameter it;
  it.go(first.get(), 1);
  rille_tensors* state = nullptr;
  REQUIRE(rille_grad_scaler_state_dict(first.get(), &state, nullptr) == RILLE_OK);
  const auto held = owned(state);
  CHECK(names_of(state) == std::vector<std::string>{"scale", "growth_factor", "backoff_factor",
                                                    "growth_interval", "_growth_tracker"});
  REQUIRE(rille_grad_scaler_load_state_dict(second.get(), state, nullptr) == RILLE_OK);
  it.go(second.get(), 1);
  CHECK(rille_grad_scaler_get_scale(second.get()) == 8);
}

TEST_CASE("C: what a scaler refuses, and a disabled one") {
  ErrorPlace e;
  rille_grad_scaler* made = nullptr;
  const auto wrong = table_of({{"growth_factor", rille_value_number(1)}});
  CHECK(rille_grad_scaler_new(wrong.get(), &made, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_SCALER_ARG");
  const auto unknown = table_of({{"growth", rille_value_number(1)}});
  CHECK(rille_grad_scaler_new(unknown.get(), &made, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_OPTION");
  CHECK(made == nullptr);
  const auto off = scaler_with(table_of({{"enabled", rille_value_boolean(0)}}));
  CHECK(rille_grad_scaler_is_enabled(off.get()) == 0);
  CHECK(Parameter().go(off.get(), 1) == 1);
  CHECK(rille_grad_scaler_get_scale(off.get()) == 1);
  CHECK(rille_grad_scaler_scale(nullptr, nullptr, nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_grad_scaler_get_scale(nullptr) == 1);
}
