// The C interface: layers and optimizers.
#include "api/c_owned.h"

namespace {

using namespace rille_c;

Owned<rille_module> layer(const char* name, std::initializer_list<int64_t> sizes,
                          const rille_value* options = nullptr) {
  std::vector<Owned<rille_value>> values;
  std::vector<const rille_value*> pointers;
  for (const int64_t n : sizes) values.push_back(owned(rille_value_integer(n)));
  for (const auto& v : values) pointers.push_back(v.get());
  rille_module* out = nullptr;
  REQUIRE(rille_layer(name, pointers.data(), pointers.size(), options, &out, nullptr) == RILLE_OK);
  return owned(out);
}

Owned<rille_tensors> parameters_of(const Owned<rille_module>& m) {
  rille_tensors* out = nullptr;
  REQUIRE(rille_module_parameters(m.get(), &out, nullptr) == RILLE_OK);
  return owned(out);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("layers are called as ops are, and refuse what they don't know", "[c]") {
  ErrorPlace e;
  const auto no_bias = table_of({{"bias", rille_value_boolean(0)}});
  const auto linear = layer("Linear", {2, 3}, no_bias.get());
  CHECK(names_of(parameters_of(linear).get()) == Names{"weight"});
  const auto x =
      owned(rille_value_tensor(op("cast", {tensor_of({1, 2}, {1, 2}).get()},
                                  table_of({{"dtype", rille_value_string("f32", 3)}}).get())
                                   .get()));
  const rille_value* arguments[] = {x.get()};
  rille_tensor* out[2] = {};
  size_t count = 0;
  REQUIRE(rille_module_forward(linear.get(), arguments, 1, nullptr, out, 2, &count, e) == RILLE_OK);
  CHECK(count == 1);
  const auto y = owned(out[0]);
  CHECK(rille_tensor_numel(y.get()) == 3);
  const Owned<rille_module> same(rille_module_copy(linear.get()));
  CHECK(rille_module_is(same.get(), linear.get()));
  const auto slope = [&] {
    rille_tensor *t = nullptr, *gradient = nullptr;
    REQUIRE(rille_module_tensor(same.get(), "weight", &t, e) == RILLE_OK);
    REQUIRE(rille_tensor_grad(owned(t).get(), &gradient, e) == RILLE_OK);
    return owned(gradient);
  };
  REQUIRE(rille_tensor_backward(op("sum", {y.get()}).get(), e) == RILLE_OK);
  CHECK(values_of(slope().get()) == std::vector<double>{1, 2, 1, 2, 1, 2});
  REQUIRE(rille_module_zero_grad(linear.get(), e) == RILLE_OK);
  CHECK_FALSE(slope());
  CHECK(rille_module_forward(linear.get(), arguments, 1, nullptr, out, 0, &count, e) ==
        RILLE_ERROR_ARGUMENT);
  CHECK(rille_module_forward(linear.get(), arguments, 1, no_bias.get(), out, 2, &count, e) ==
        RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_OPTION");
  rille_module* made = nullptr;
  CHECK(rille_layer("Linnear", nullptr, 0, nullptr, &made, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "there is no layer 'Linnear'");
  CHECK(rille_layer("Linear", nullptr, 0, nullptr, &made, e) == RILLE_ERROR_ARGUMENT);
  REQUIRE(rille_module_new("Bare", nullptr, nullptr, nullptr, &made, e) == RILLE_OK);
  const auto bare = owned(made);
  rille_tensor* none = nullptr;
  CHECK(rille_module_apply(made, tensor_of({1}, {1}).get(), &none, e) == RILLE_ERROR_STATE);
  CHECK(e.message() == "Bare can't be called: it has no forward");
}

TEST_CASE("optimizers: groups, rates, states, options by name", "[c]") {
  ErrorPlace e;
  const auto w = tensor_of({1, 2}, {2}), v = tensor_of({3}, {1});
  for (const auto* t : {&w, &v}) rille_tensor_set_requires_grad(t->get(), 1, nullptr);
  rille_optimizer* made = nullptr;
  const auto momentum =
      table_of({{"lr", rille_value_number(0.5)}, {"momentum", rille_value_number(0.9)}});
  REQUIRE(rille_optimizer_new("SGD", list_of({w.get()}).get(), momentum.get(), &made, e) ==
          RILLE_OK);
  const auto optimizer = owned(made);
  REQUIRE(rille_optimizer_add_group(made, list_of({v.get()}).get(), nullptr, e) == RILLE_OK);
  CHECK(rille_optimizer_groups(made) == 2);
  double lr = 0;
  CHECK(rille_optimizer_lr(made, 1, &lr, e) == RILLE_OK);
  CHECK(lr == 1e-3);
  CHECK(rille_optimizer_set_group_lr(made, 1, 0.25, e) == RILLE_OK);
  CHECK(rille_optimizer_lr(made, 2, &lr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_INDEX");
  REQUIRE(rille_tensor_set_grad(w.get(), tensor_of({2, 4}, {2}).get(), e) == RILLE_OK);
  REQUIRE(rille_tensor_set_grad(v.get(), tensor_of({4}, {1}).get(), e) == RILLE_OK);
  REQUIRE(rille_clip_grad_value(list_of({w.get()}).get(), 3, e) == RILLE_OK);
  REQUIRE(rille_optimizer_step(made, e) == RILLE_OK);
  CHECK(values_of(w.get()) == std::vector<double>{0, 0.5});
  CHECK(values_of(v.get()) == std::vector<double>{2});
  rille_tensors* list = nullptr;
  REQUIRE(rille_optimizer_state_dict(made, &list, e) == RILLE_OK);
  const auto state = owned(list);
  CHECK(names_of(list) == Names{"step_count", "0.step", "1.step", "0.momentum_buffer"});
  CHECK(rille_optimizer_load_state_dict(made, list, e) == RILLE_OK);
  CHECK(rille_optimizer_load_state_dict(made, list_of({w.get()}).get(), e) == RILLE_ERROR_STATE);
  REQUIRE(rille_optimizer_zero_grad(made, 1, e) == RILLE_OK);
  rille_tensor* gradient = nullptr;
  REQUIRE(rille_tensor_grad(w.get(), &gradient, e) == RILLE_OK);
  CHECK(values_of(owned(gradient).get()) == std::vector<double>{0, 0});

  rille_optimizer* none = nullptr;
  const auto wrong = table_of({{"weigth_decay", rille_value_number(1)}});
  CHECK(rille_optimizer_new("AdamW", list_of({w.get()}).get(), wrong.get(), &none, e) ==
        RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "unknown option 'weigth_decay'");
  CHECK(std::string(rille_error_fact(e.get(), 0)) ==
        "takes: amsgrad betas eps lr master_weights maximize state_dtype weight_decay");
  CHECK(rille_optimizer_new("Adamw", list_of({w.get()}).get(), nullptr, &none, e) ==
        RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "there is no optimizer 'Adamw'");
}
