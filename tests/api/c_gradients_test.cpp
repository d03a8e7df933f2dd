// The C interface: backward with options, gradients as values, hooks, modes.
#include <cstddef>

#include "api/c_owned.h"

namespace {

using namespace rille_c;

Owned<rille_tensor> leaf(std::initializer_list<double> values) {
  auto t = tensor_of(values, {static_cast<int64_t>(values.size())});
  REQUIRE(rille_tensor_set_requires_grad(t.get(), 1, nullptr) == RILLE_OK);
  return t;
}

std::vector<double> grad_of(const Owned<rille_tensor>& t) {
  rille_tensor* out = nullptr;
  REQUIRE(rille_tensor_grad(t.get(), &out, nullptr) == RILLE_OK);
  return out ? values_of(owned(out).get()) : std::vector<double>{};
}

using Values = std::vector<double>;

}  // namespace

TEST_CASE("backward with a gradient, twice, into some leaves only", "[c]") {
  ErrorPlace e;
  const auto x = leaf({2, 3}), y = leaf({5, 7});
  const auto product = op("mul", {x.get(), y.get()});
  CHECK(rille_tensor_requires_grad(product.get()));
  CHECK_FALSE(rille_tensor_is_leaf(product.get()));
  CHECK(rille_tensor_is_leaf(x.get()));
  const auto seed = tensor_of({1, 10}, {2});
  const auto only_x = list_of({x.get()});
  rille_backward_options options;
  rille_backward_options_init(&options);
  options.gradient = seed.get();
  options.inputs = only_x.get();
  options.retain_graph = 1;
  REQUIRE(rille_tensor_backward_with(product.get(), &options, e) == RILLE_OK);
  CHECK(grad_of(x) == Values{5, 70});
  CHECK(grad_of(y).empty());
  options.inputs = nullptr;
  options.retain_graph = 0;
  REQUIRE(rille_tensor_backward_with(product.get(), &options, e) == RILLE_OK);
  CHECK(grad_of(x) == Values{10, 140});
  CHECK(grad_of(y) == Values{2, 30});
  CHECK(rille_tensor_backward_with(product.get(), &options, e) != RILLE_OK);
  CHECK(e.code() == "E_GRAPH_FREED");
  options.size = 4;
  CHECK(rille_tensor_backward_with(product.get(), &options, e) == RILLE_ERROR_ARGUMENT);

  CHECK(rille_tensor_set_grad(x.get(), nullptr, e) == RILLE_OK);
  CHECK(grad_of(x).empty());
  CHECK(rille_tensor_set_grad(x.get(), seed.get(), e) == RILLE_OK);
  CHECK(grad_of(x) == Values{1, 10});
  CHECK(rille_tensor_set_grad(x.get(), tensor_of({1}, {1}).get(), e) == RILLE_ERROR_SHAPE);
}

TEST_CASE("gradients as values, of gradients, and of what nothing depends on", "[c]") {
  ErrorPlace e;
  const auto x = leaf({2, 3}), other = leaf({1});
  const auto cubes = op("sum", {op("mul", {op("mul", {x.get(), x.get()}).get(), x.get()}).get()});
  const auto outputs = list_of({cubes.get()}), inputs = list_of({x.get(), other.get()});
  rille_grad_options options;
  rille_grad_options_init(&options);
  options.create_graph = 1;
  rille_tensors* made = nullptr;
  CHECK(rille_grad(outputs.get(), inputs.get(), &options, &made, e) == RILLE_ERROR_STATE);
  options.allow_unused = 1;
  REQUIRE(rille_grad(outputs.get(), inputs.get(), &options, &made, e) == RILLE_OK);
  const auto first = owned(made);
  CHECK(names_of(first.get()) == std::vector<std::string>{"0", "1"});
  rille_tensor* t = nullptr;
  CHECK(rille_tensors_at(first.get(), 1, &t, e) == RILLE_OK);
  CHECK(t == nullptr);
  REQUIRE(rille_tensors_at(first.get(), 0, &t, e) == RILLE_OK);
  const auto slope = owned(t);
  CHECK(values_of(slope.get()) == Values{12, 27});
  CHECK(rille_tensor_backward(op("sum", {slope.get()}).get(), e) == RILLE_OK);
  CHECK(grad_of(x) == Values{12, 18});
}

TEST_CASE("options of gradients are set as far as the program knows them", "[c]") {
  rille_backward_options all;
  rille_backward_options_init(&all);
  CHECK(all.size == sizeof all);
  rille_backward_options part;
  part.retain_graph = 77;
  rille_backward_options_init_sized(&part, offsetof(rille_backward_options, retain_graph));
  CHECK(part.size == offsetof(rille_backward_options, retain_graph));
  CHECK(part.gradient == nullptr);
  CHECK(part.retain_graph == 77);
  void (*const by_old_symbol)(rille_grad_options*) = &rille_grad_options_init;
  rille_grad_options first;
  by_old_symbol(&first);
  CHECK(first.size == offsetof(rille_grad_options, reserved) + sizeof first.reserved);
  CHECK(first.allow_unused == 0);
}

TEST_CASE("what a hook in C gives must be like the gradient it got", "[c]") {
  ErrorPlace e;
  const auto x = leaf({2, 3}), seven = tensor_of({1, 2, 3, 4, 5, 6, 7}, {7});
  const auto give_it = [](void* userdata, const rille_value* const*, size_t, rille_results* results,
                          rille_error** error) -> rille_status {
    const auto* given = static_cast<const rille_tensor*>(userdata);
    return rille_results_add(results, owned(rille_value_tensor(given)).get(), error);
  };
  uint64_t id = 0;
  REQUIRE(rille_tensor_add_hook(x.get(), give_it, seven.get(), nullptr, &id, e) == RILLE_OK);
  CHECK(rille_tensor_backward(op("sum", {x.get()}).get(), e) == RILLE_ERROR_SHAPE);
  CHECK(e.message() == "a hook must return a gradient like the one it got, f64[2], not f64[7]");
  CHECK(grad_of(x).empty());
}

TEST_CASE("detached tensors, kept gradients, hooks", "[c]") {
  ErrorPlace e;
  const auto x = leaf({2, 3});
  rille_tensor* made = nullptr;
  REQUIRE(rille_tensor_detach(x.get(), &made, e) == RILLE_OK);
  const auto detached = owned(made);
  CHECK_FALSE(rille_tensor_requires_grad(detached.get()));
  const auto squares = op("mul", {x.get(), x.get()});
  CHECK(rille_tensor_retain_grad(squares.get(), e) == RILLE_OK);

  // Gives the gradient back ten times as large, and counts.
  struct Seen {
    int calls = 0, destroyed = 0;
  } seen;
  const auto tenfold = [](void* userdata, const rille_value* const* arguments, size_t count,
                          rille_results* results, rille_error** error) -> rille_status {
    static_cast<Seen*>(userdata)->calls += static_cast<int>(count);
    rille_tensor* gradient = nullptr;
    if (const rille_status s = rille_value_get_tensor(arguments[0], &gradient, error)) return s;
    const auto held = owned(gradient), ten = tensor_of({10}, {});
    const auto larger = op("mul", {gradient, ten.get()});
    return rille_results_add(results, owned(rille_value_tensor(larger.get())).get(), error);
  };
  const auto count_it = [](void* userdata) { ++static_cast<Seen*>(userdata)->destroyed; };
  uint64_t id = 0;
  REQUIRE(rille_tensor_add_hook(x.get(), tenfold, &seen, count_it, &id, e) == RILLE_OK);
  REQUIRE(rille_tensor_backward(op("sum", {squares.get()}).get(), e) == RILLE_OK);
  CHECK(grad_of(x) == Values{40, 60});
  CHECK(grad_of(squares) == Values{1, 1});
  CHECK(seen.calls == 1);
  CHECK(rille_tensor_remove_hook(x.get(), id, e) == RILLE_OK);
  CHECK(seen.destroyed == 1);

  const auto failing = [](void*, const rille_value* const*, size_t, rille_results*,
                          rille_error** error) -> rille_status {
    *error = rille_error_new("E_ARG", "no gradient is good enough");
    rille_error_describe(*error, RILLE_ERROR_ARGUMENT, "judge", "try another");
    rille_error_add_fact(*error, "one fact");
    return RILLE_ERROR_ARGUMENT;
  };
  REQUIRE(rille_tensor_add_hook(x.get(), failing, nullptr, nullptr, &id, e) == RILLE_OK);
  CHECK(rille_tensor_backward(op("sum", {x.get()}).get(), e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "no gradient is good enough");
  CHECK(std::string(rille_error_op(e.get())) == "judge");
  CHECK(std::string(rille_error_hint(e.get())) == "try another");
  REQUIRE(rille_error_fact_count(e.get()) == 1);
  CHECK(std::string(rille_error_fact(e.get(), 0)) == "one fact");
  CHECK(std::string(rille_status_name(rille_error_status(e.get()))) == "argument");
  CHECK(rille_status_name(11) == nullptr);
}

TEST_CASE("modes of the thread: recorded, not recorded, inference", "[c]") {
  const auto x = leaf({2});
  CHECK(rille_get_grad_mode() == RILLE_GRAD_ON);
  CHECK(rille_set_grad_mode(RILLE_GRAD_OFF) == RILLE_GRAD_ON);
  CHECK_FALSE(rille_tensor_requires_grad(op("mul", {x.get(), x.get()}).get()));
  CHECK(rille_set_grad_mode(RILLE_GRAD_INFERENCE) == RILLE_GRAD_OFF);
  CHECK(rille_get_grad_mode() == RILLE_GRAD_INFERENCE);
  CHECK_FALSE(rille_tensor_requires_grad(op("mul", {x.get(), x.get()}).get()));
  CHECK(rille_set_grad_mode(77) == RILLE_GRAD_INFERENCE);
  CHECK(rille_set_grad_mode(RILLE_GRAD_ON) == RILLE_GRAD_INFERENCE);
  CHECK(rille_tensor_requires_grad(op("mul", {x.get(), x.get()}).get()));
}
