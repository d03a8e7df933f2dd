// The C interface: layers, modules of one's own, states, optimizers. What they compute is compared
// with the C++ interface, whose bits are those of scripts.
#include "api/c_owned.h"
#include "rille/rille.hpp"

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

Owned<rille_module> sequence(std::initializer_list<const rille_module*> parts) {
  rille_module* out = nullptr;
  REQUIRE(rille_sequential(parts.begin(), parts.size(), &out, nullptr) == RILLE_OK);
  return owned(out);
}

Owned<rille_tensors> parameters_of(const Owned<rille_module>& m) {
  rille_tensors* out = nullptr;
  REQUIRE(rille_module_parameters(m.get(), &out, nullptr) == RILLE_OK);
  return owned(out);
}

Owned<rille_tensor> output_of(const Owned<rille_module>& m, const Owned<rille_tensor>& x) {
  rille_tensor* out = nullptr;
  REQUIRE(rille_module_apply(m.get(), x.get(), &out, nullptr) == RILLE_OK);
  return owned(out);
}

std::string text_of(const Owned<rille_module>& m) {
  rille_value* v = nullptr;
  const char* text = nullptr;
  REQUIRE(rille_module_text(m.get(), &v, nullptr) == RILLE_OK);
  const auto held = owned(v);
  REQUIRE(rille_value_get_string(v, &text, nullptr, nullptr) == RILLE_OK);
  return text;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("C trains to the bits of C++, layers and optimizer alike", "[c]") {
  ErrorPlace e;
  std::vector<double> expected;
  {
    using namespace rille;
    seed(5);
    const auto net = nn::Sequential{nn::Linear(3, 8), nn::Tanh(), nn::Linear(8, 1)};
    optim::AdamW optimizer{net.parameters(), {.lr = 0.02, .betas = {0.8, 0.99}}};
    const Tensor x = randn({16, 3}), y = randn({16, 1});
    for (int i = 0; i < 12; ++i) {
      optimizer.zero_grad();
      const Tensor loss = mse_loss(net(x), y);
      loss.backward();
      nn::clip_grad_norm_(net.parameters(), 0.5);
      optimizer.set_lr(0.02 / (i + 1));
      optimizer.step();
      expected.push_back(loss.item<double>());
    }
  }
  rille_seed(5);
  const auto a = layer("Linear", {3, 8}), b = layer("Tanh", {}), c = layer("Linear", {8, 1});
  const auto net = sequence({a.get(), b.get(), c.get()});
  CHECK(text_of(net) ==
        "Sequential(\n  0: Linear(in=3, out=8, bias=true)\n  1: Tanh()\n"
        "  2: Linear(in=8, out=1, bias=true)\n)");
  const auto parameters = parameters_of(net);
  CHECK(names_of(parameters.get()) == Names{"0.weight", "0.bias", "2.weight", "2.bias"});
  const auto options = table_of(
      {{"lr", rille_value_number(0.02)},
       {"betas", list_of_values({rille_value_number(0.8), rille_value_number(0.99)}).release()}});
  rille_optimizer* made = nullptr;
  REQUIRE(rille_optimizer_new("AdamW", parameters.get(), options.get(), &made, e) == RILLE_OK);
  const auto optimizer = owned(made);
  const auto randn = [&](std::initializer_list<int64_t> sizes) {
    const auto size = owned(rille_value_table());
    for (const int64_t n : sizes)
      REQUIRE(rille_table_append(size.get(), owned(rille_value_integer(n)).get(), e) == RILLE_OK);
    const rille_value* arguments[] = {size.get()};
    rille_tensor* out = nullptr;
    size_t count = 0;
    REQUIRE(rille_op("randn", arguments, 1, nullptr, &out, 1, &count, e) == RILLE_OK);
    return owned(out);
  };
  const auto x = randn({16, 3}), y = randn({16, 1});
  std::vector<double> losses;
  for (int i = 0; i < 12; ++i) {
    REQUIRE(rille_optimizer_zero_grad(made, 0, e) == RILLE_OK);
    const auto loss = op("mse_loss", {output_of(net, x).get(), y.get()});
    REQUIRE(rille_tensor_backward(loss.get(), e) == RILLE_OK);
    double norm = 0;
    REQUIRE(rille_clip_grad_norm(parameters.get(), 0.5, 2, 0, &norm, e) == RILLE_OK);
    CHECK(norm > 0);
    REQUIRE(rille_optimizer_set_lr(made, 0.02 / (i + 1), e) == RILLE_OK);
    REQUIRE(rille_optimizer_step(made, e) == RILLE_OK);
    losses.push_back(values_of(loss.get())[0]);
  }
  CHECK(losses == expected);
  CHECK(losses.back() < losses.front());
  CHECK(rille_optimizer_step_count(made) == 12);
}

TEST_CASE("a module of one's own: parts, forward, modes, state", "[c]") {
  ErrorPlace e;
  const auto scaled = [](void* userdata, const rille_value* const* arguments, size_t,
                         rille_results* results, rille_error** error) -> rille_status {
    rille_tensor *x = nullptr, *y = nullptr;
    size_t count = 0;
    if (const rille_status s = rille_value_get_tensor(arguments[0], &x, error)) return s;
    const auto held = owned(x);
    const auto scale = owned(rille_value_tensor(static_cast<rille_tensor*>(userdata)));
    const rille_value* both[] = {arguments[0], scale.get()};
    if (const rille_status s = rille_op("mul", both, 2, nullptr, &y, 1, &count, error)) return s;
    return rille_results_add(results, owned(rille_value_tensor(owned(y).get())).get(), error);
  };
  const auto scale = tensor_of({2, 3}, {2});
  rille_module* made = nullptr;
  REQUIRE(rille_module_new("Scaled", scaled, scale.get(), nullptr, &made, e) == RILLE_OK);
  const auto own = owned(made);
  rille_tensor* parameter = nullptr;
  REQUIRE(rille_module_add_parameter(made, "scale", scale.get(), &parameter, e) == RILLE_OK);
  CHECK(rille_tensor_requires_grad(owned(parameter).get()));
  REQUIRE(rille_module_add_buffer(made, "count", tensor_of({0}, {}).get(), 1, e) == RILLE_OK);
  REQUIRE(rille_module_add_buffer(made, "cache", tensor_of({0}, {}).get(), 0, e) == RILLE_OK);
  const auto drop = layer("Dropout", {});
  REQUIRE(rille_module_add_child(made, "drop", drop.get(), e) == RILLE_OK);
  CHECK(rille_module_add_child(made, "scale", drop.get(), e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "the name 'scale' is taken");
  CHECK(rille_module_child_count(made) == 1);
  CHECK(std::string(rille_module_child_name(made, 0)) == "drop");
  rille_module* child = nullptr;
  REQUIRE(rille_module_child(made, 0, &child, e) == RILLE_OK);
  CHECK(rille_module_is(owned(child).get(), drop.get()));
  CHECK(rille_module_child(made, 1, &child, e) == RILLE_ERROR_ARGUMENT);

  const auto net = sequence({made});
  CHECK(values_of(output_of(net, tensor_of({10, 20}, {2})).get()) == std::vector<double>{20, 60});
  CHECK(rille_module_is_training(drop.get()));
  REQUIRE(rille_module_set_training(net.get(), 0, e) == RILLE_OK);
  CHECK_FALSE(rille_module_is_training(drop.get()));

  rille_tensors* list = nullptr;
  REQUIRE(rille_module_state_dict(net.get(), &list, e) == RILLE_OK);
  const auto state = owned(list);
  CHECK(names_of(list) == Names{"0.scale", "0.count"});
  REQUIRE(rille_module_buffers(net.get(), &list, e) == RILLE_OK);
  CHECK(names_of(owned(list).get()) == Names{"0.count", "0.cache"});
  const auto changed = owned(rille_tensors_new());
  const auto nines = tensor_of({9, 9}, {2});
  REQUIRE(rille_tensors_add(changed.get(), "0.scale", nines.get(), e) == RILLE_OK);
  REQUIRE(rille_tensors_add(changed.get(), "0.more", nines.get(), e) == RILLE_OK);
  CHECK(rille_module_load_state_dict(net.get(), changed.get(), 1, nullptr, e) == RILLE_ERROR_STATE);
  rille_value* report = nullptr;
  REQUIRE(rille_module_load_state_dict(net.get(), changed.get(), 0, &report, e) == RILLE_OK);
  const auto held = owned(report);
  rille_value* unexpected = nullptr;
  REQUIRE(rille_table_get(report, "unexpected", &unexpected, e) == RILLE_OK);
  CHECK(rille_table_length(owned(unexpected).get()) == 1);
  rille_tensor* found = nullptr;
  REQUIRE(rille_module_tensor(net.get(), "0.scale", &found, e) == RILLE_OK);
  CHECK(values_of(owned(found).get()) == std::vector<double>{9, 9});
  REQUIRE(rille_module_to_dtype(net.get(), RILLE_F32, e) == RILLE_OK);
  REQUIRE(rille_module_to_device(net.get(), "cpu:1", e) == RILLE_OK);
  REQUIRE(rille_module_tensor(net.get(), "0.scale", &found, e) == RILLE_OK);
  CHECK(rille_tensor_dtype(owned(found).get()) == RILLE_F32);
  CHECK(rille_module_tensor(net.get(), "scale", &found, e) == RILLE_ERROR_ARGUMENT);
}

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
  // Modules over ops: options by name or by position, the mode is the module's.
  const auto drop = layer("Dropout", {}, table_of({{"p", rille_value_number(1)}}).get());
  CHECK(values_of(output_of(drop, y).get()) == std::vector<double>{0, 0, 0});
  REQUIRE(rille_module_set_training(drop.get(), 0, e) == RILLE_OK);
  CHECK(values_of(output_of(drop, y).get()) == values_of(y.get()));
  const auto softmax = layer("Softmax", {0});
  CHECK(values_of(output_of(softmax, tensor_of({5, 5}, {2})).get()) ==
        std::vector<double>{0.5, 0.5});
  const auto same_again = layer("Identity", {});
  CHECK(values_of(output_of(same_again, y).get()) == values_of(y.get()));
  rille_module* made = nullptr;
  CHECK(rille_layer("Tanh", nullptr, 0, no_bias.get(), &made, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "unknown option 'bias'");
  CHECK(rille_layer("Unflatten", nullptr, 0, nullptr, &made, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_TYPE");
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
        "takes: amsgrad betas eps lr master_weights maximize state_dtype stats "
        "stochastic_rounding weight_decay");
  CHECK(rille_optimizer_new("Adamw", list_of({w.get()}).get(), nullptr, &none, e) ==
        RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "there is no optimizer 'Adamw'");
}
