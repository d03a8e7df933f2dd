// The C interface: loaders over tensors and over a callback, whose batches are those of C++.
#include <atomic>

#include "api/c_owned.h"
#include "rille/rille.hpp"

namespace {

using namespace rille_c;
using Batches = std::vector<std::vector<double>>;

Owned<rille_tensor> numbers(int64_t n) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i);
  rille_tensor* out = nullptr;
  REQUIRE(rille_tensor_of(values.data(), 1, &n, RILLE_I64, &out, nullptr) == RILLE_OK);
  return owned(out);
}

Owned<rille_loader> loader_over(const rille_tensors* tensors, const rille_value* options) {
  rille_loader* out = nullptr;
  REQUIRE(rille_loader_new(tensors, options, &out, nullptr) == RILLE_OK);
  return owned(out);
}

Owned<rille_tensors> next_of(const Owned<rille_loader>& loader) {
  rille_tensors* out = nullptr;
  REQUIRE(rille_loader_next(loader.get(), &out, nullptr) == RILLE_OK);
  return owned(out);
}

Batches drain(const Owned<rille_loader>& loader) {
  Batches out;
  while (const auto batch = next_of(loader)) {
    rille_tensor* first = nullptr;
    REQUIRE(rille_tensors_at(batch.get(), 0, &first, nullptr) == RILLE_OK);
    out.push_back(values_of(owned(first).get()));
  }
  return out;
}

// A sample is its index, once as f64 and once as i64; the one called `bad` fails.
struct Source {
  int64_t bad = -1;
  std::atomic<int> destroyed = 0;

  static rille_status get(void* userdata, int64_t index, rille_tensors* sample,
                          rille_error** error) {
    const auto* self = static_cast<const Source*>(userdata);
    if (index == self->bad) {
      if (error) *error = rille_error_new("E_FORMAT", "no such record");
      return RILLE_ERROR_DATA;
    }
    rille_tensor* t = nullptr;
    if (const auto s = rille_tensor_of(&index, 0, nullptr, RILLE_I64, &t, error)) return s;
    const Owned<rille_tensor> held(t);
    return rille_tensors_add(sample, nullptr, t, error);
  }
  static void destroy(void* userdata) { ++static_cast<Source*>(userdata)->destroyed; }
};

}  // namespace

TEST_CASE("C: batches of tensors have the order of C++, and the tensors' names", "[c][loader]") {
  ErrorPlace e;
  Batches expected;
  rille::data::Loader same(
      rille::data::TensorDataset({rille::Tensor::of(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6})}),
      {.batch = 2, .shuffle = true, .drop_last = true, .seed = 11});
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& batch : same) expected.push_back(batch[0].to_vector<double>());

  const auto x = numbers(7), y = tensor_of({0, 1, 2, 3, 4, 5, 6}, {7});
  const auto columns = owned(rille_tensors_new());
  REQUIRE(rille_tensors_add(columns.get(), "x", x.get(), e) == RILLE_OK);
  REQUIRE(rille_tensors_add(columns.get(), "y", y.get(), e) == RILLE_OK);
  const auto options = table_of({{"batch", rille_value_integer(2)},
                                 {"shuffle", rille_value_boolean(1)},
                                 {"drop_last", rille_value_boolean(1)},
                                 {"workers", rille_value_integer(2)},
                                 {"prefetch", rille_value_integer(1)},
                                 {"persistent", rille_value_boolean(1)},
                                 {"timeout", rille_value_number(60)},
                                 {"seed", rille_value_integer(11)}});
  const auto loader = loader_over(columns.get(), options.get());
  CHECK(rille_loader_size(loader.get()) == 3);
  const auto first = next_of(loader);
  CHECK(names_of(first.get()) == std::vector<std::string>{"x", "y"});
  rille_tensor *bx = nullptr, *by = nullptr;
  REQUIRE(rille_tensors_get(first.get(), "x", &bx, e) == RILLE_OK);
  REQUIRE(rille_tensors_get(first.get(), "y", &by, e) == RILLE_OK);
  CHECK(values_of(owned(bx).get()) == expected[0]);
  CHECK(values_of(owned(by).get()) == expected[0]);
  CHECK(drain(loader) == Batches(expected.begin() + 1, expected.begin() + 3));
  CHECK(drain(loader) == Batches(expected.begin() + 3, expected.end()));
  REQUIRE(rille_loader_set_epoch(loader.get(), 1, e) == RILLE_OK);
  CHECK(drain(loader) == Batches(expected.begin(), expected.begin() + 3));
  REQUIRE(rille_loader_close(loader.get(), e) == RILLE_OK);
  CHECK(drain(loader) == Batches(expected.begin() + 3, expected.end()));
}

TEST_CASE("C: a callback's samples, its errors, its end", "[c][loader]") {
  ErrorPlace e;
  Source source;
  rille_loader* made = nullptr;
  const auto options = table_of(
      {{"batch", rille_value_integer(2)},
       {"workers", rille_value_integer(3)},
       {"sampler",
        list_of_values({rille_value_integer(4), rille_value_integer(0), rille_value_integer(2)})
            .release()}});
  REQUIRE(rille_loader_from_callback(5, Source::get, &source, Source::destroy, options.get(), &made,
                                     e) == RILLE_OK);
  auto loader = owned(made);
  CHECK(drain(loader) == Batches{{4, 0}, {2}});
  source.bad = 2;
  CHECK(names_of(next_of(loader).get()) == std::vector<std::string>{""});
  rille_tensors* none = nullptr;
  CHECK(rille_loader_next(made, &none, e) == RILLE_ERROR_STATE);
  CHECK(e.code() == "E_FORMAT");
  CHECK(e.message() == "no such record");
  CHECK(rille_error_fact(e.get(), 0) == std::string("sample 2"));
  CHECK(std::string(rille_error_fact(e.get(), 1)).substr(0, 7) == "worker ");
  CHECK(source.destroyed == 0);
  loader.reset();
  CHECK(source.destroyed == 1);

  const auto single = table_of({{"batch", rille_value_boolean(0)}});
  REQUIRE(rille_loader_from_callback(2, Source::get, &source, nullptr, single.get(), &made, e) ==
          RILLE_OK);
  CHECK(drain(owned(made)) == Batches{{0}, {1}});
}

TEST_CASE("C: a state is what scripts keep, and goes on exactly", "[c][loader]") {
  ErrorPlace e;
  const auto columns = list_of({numbers(10).get()});
  const auto make = [&](int64_t workers) {
    const auto options = table_of({{"batch", rille_value_integer(3)},
                                   {"shuffle", rille_value_boolean(1)},
                                   {"workers", rille_value_integer(workers)},
                                   {"seed", rille_value_integer(-3)}});
    return loader_over(columns.get(), options.get());
  };
  const auto loader = make(0);
  const Batches whole = drain(loader);
  REQUIRE(rille_loader_set_epoch(loader.get(), 1, e) == RILLE_OK);
  next_of(loader);
  rille_value* out = nullptr;
  REQUIRE(rille_loader_state(loader.get(), &out, e) == RILLE_OK);
  const auto state = owned(out);
  const std::pair<const char*, int64_t> facts[] = {
      {"epoch", 1}, {"batches", 1}, {"items", 10}, {"batch", 3}, {"seed", -3}, {"order_seed", -3}};
  CHECK(rille_table_field_count(state.get()) == 6);
  for (const auto& [name, wanted] : facts) {
    int64_t n = 0;
    REQUIRE(rille_table_get(state.get(), name, &out, e) == RILLE_OK);
    REQUIRE(rille_value_get_integer(owned(out).get(), &n, e) == RILLE_OK);
    CHECK(n == wanted);
  }
  const auto other = make(2);
  REQUIRE(rille_loader_load_state(other.get(), state.get(), e) == RILLE_OK);
  CHECK(drain(other) == Batches(whole.begin() + 1, whole.end()));

  rille_interpreter* in = nullptr;
  REQUIRE(rille_open(nullptr, &in, e) == RILLE_OK);
  const auto lua = owned(in);
  REQUIRE(rille_set(in, "state", state.get(), e) == RILLE_OK);
  const std::string code = R"(
    local rille = require "rille"
    local set = rille.data.table { x = rille.arange(0, 9) }
    local loader = rille.data.Loader(set, { batch = 3, shuffle = true })
    loader:load_state(state)
    for batch in loader do
      first = batch.x
      break
    end
  )";
  REQUIRE(rille_run_string(in, code.data(), code.size(), nullptr, e) == RILLE_OK);
  REQUIRE(rille_get(in, "first", &out, e) == RILLE_OK);
  rille_tensor* first = nullptr;
  REQUIRE(rille_value_get_tensor(owned(out).get(), &first, e) == RILLE_OK);
  CHECK(values_of(owned(first).get()) == whole[1]);

  const auto bad =
      table_of({{"epoch", rille_value_integer(1)}, {"batches", rille_value_integer(9)}});
  CHECK(rille_loader_load_state(other.get(), bad.get(), e) == RILLE_ERROR_STATE);
  CHECK(e.message() == "the state is of batch 9, there are 4");
}

TEST_CASE("C: loaders refuse what makes no sense", "[c][loader]") {
  ErrorPlace e;
  const auto columns = list_of({numbers(4).get()});
  rille_loader* out = nullptr;
  const auto message = [&](const Owned<rille_value>& options) {
    CHECK(rille_loader_new(columns.get(), options.get(), &out, e) == RILLE_ERROR_ARGUMENT);
    return e.code() + " " + e.message();
  };
  CHECK(message(table_of({{"prefetch", rille_value_integer(2)}})) ==
        "E_OPTION 'prefetch' needs workers");
  CHECK(message(table_of({{"batches", rille_value_integer(2)}})) ==
        "E_OPTION unknown option 'batches'");
  CHECK(rille_error_fact(e.get(), 0) ==
        std::string("takes: batch drop_last persistent prefetch sampler seed shuffle timeout "
                    "workers"));
  CHECK(message(
            table_of({{"batch", rille_value_boolean(0)}, {"drop_last", rille_value_boolean(1)}})) ==
        "E_OPTION 'drop_last' needs batches");
  CHECK(rille_loader_new(nullptr, nullptr, &out, e) == RILLE_ERROR_ARGUMENT);
  Source source;
  CHECK(rille_loader_from_callback(3, nullptr, &source, Source::destroy, nullptr, &out, e) ==
        RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "the callback is NULL");
  CHECK(source.destroyed == 1);
  CHECK(rille_loader_size(nullptr) == 0);
  rille_tensors* batch = nullptr;
  CHECK(rille_loader_next(nullptr, &batch, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "the loader is NULL");
  rille_loader_delete(nullptr);
}
