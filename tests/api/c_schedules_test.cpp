// The C interface: schedules by name. Their rates are compared with PyTorch's sequences and with
// the C++ interface, whose bits are those of scripts.
#include "api/c_owned.h"
#include "api/schedules.h"

namespace {

using namespace rille_c;

class Optimizer {
 public:
  explicit Optimizer(const char* kind = "SGD") : parameter_(tensor_of({1, 2}, {2})) {
    rille_tensor_set_requires_grad(parameter_.get(), 1, nullptr);
    const auto options = table_of({{"lr", rille_value_number(1)}});
    rille_optimizer* made = nullptr;
    REQUIRE(rille_optimizer_new(kind, list_of({parameter_.get()}).get(), options.get(), &made,
                                nullptr) == RILLE_OK);
    handle_ = owned(made);
  }
  rille_optimizer* get() const { return handle_.get(); }
  void reset() { handle_.reset(); }
  void step() const { REQUIRE(rille_optimizer_step(get(), nullptr) == RILLE_OK); }
  double lr() const {
    double out = 0;
    REQUIRE(rille_optimizer_lr(get(), 0, &out, nullptr) == RILLE_OK);
    return out;
  }

 private:
  Owned<rille_tensor> parameter_;
  Owned<rille_optimizer> handle_;
};

Owned<rille_schedule> schedule(const Optimizer& optimizer, const char* kind,
                               const Owned<rille_value>& options = nullptr) {
  ErrorPlace e;
  rille_schedule* out = nullptr;
  if (rille_schedule_new(kind, optimizer.get(), options.get(), &out, e) != RILLE_OK)
    FAIL(e.message());
  return owned(out);
}

std::string refused(const Optimizer& optimizer, const char* kind, const rille_value* options) {
  ErrorPlace e;
  rille_schedule* out = nullptr;
  REQUIRE(rille_schedule_new(kind, optimizer.get(), options, &out, e) == RILLE_ERROR_ARGUMENT);
  CHECK(out == nullptr);
  return rille_error_report(e.get());
}

double at(const Owned<rille_schedule>& s, int64_t step) {
  double out = -1;
  REQUIRE(rille_schedule_at(s.get(), step, 0, &out, nullptr) == RILLE_OK);
  return out;
}

// A value of C++ as one of C: numbers, texts, flags, lists and tables of them.
Owned<rille_value> value_of(const rille::Value& v) {
  if (v.boolean()) return owned(rille_value_boolean(*v.boolean()));
  if (v.integer()) return owned(rille_value_integer(*v.integer()));
  if (v.number()) return owned(rille_value_number(*v.number()));
  if (v.string()) return owned(rille_value_string(v.string()->data(), v.string()->size()));
  auto table = owned(rille_value_table());
  for (const rille::Value& one : v.table()->list)
    REQUIRE(rille_table_append(table.get(), value_of(one).get(), nullptr) == RILLE_OK);
  for (const auto& [name, one] : v.table()->named)
    REQUIRE(rille_table_set(table.get(), name.c_str(), value_of(one).get(), nullptr) == RILLE_OK);
  return table;
}

}  // namespace

TEST_CASE("C gets the sequences of PyTorch's schedulers", "[c][schedules]") {
  const Optimizer optimizer;
  for (const rille::test::Sequence& wanted : rille::test::sequences()) {
    INFO(wanted.name);
    const auto made = schedule(optimizer, wanted.name.c_str(), value_of(wanted.options));
    for (size_t i = 0; i < wanted.values.size(); ++i)
      CHECK(at(made, static_cast<int64_t>(i)) == Approx(wanted.values[i]).margin(2e-6));
  }
}

TEST_CASE("C trains by the rates of C++", "[c][schedules]") {
  ErrorPlace e;
  namespace lr = rille::optim::lr;
  rille::optim::AdamW twin({rille::Tensor::of({1}).requires_grad_()}, {.lr = 1});
  lr::Schedule wanted =
      lr::chain(lr::LinearWarmup(twin, {.steps = 3}),
                lr::OneCycle(twin, {.max_lr = 0.5, .steps = 12, .anneal = "linear"}));
  const Optimizer optimizer("AdamW");
  const auto steps = [](int64_t n) { return table_of({{"steps", rille_value_integer(n)}}); };
  const auto warmup = schedule(optimizer, "LinearWarmup", steps(3));
  const auto cycle = schedule(optimizer, "OneCycle",
                              table_of({{"steps", rille_value_number(12)},
                                        {"max_lr", rille_value_number(0.5)},
                                        {"anneal", rille_value_string("linear", 6)}}));
  const rille_schedule* parts[] = {warmup.get(), cycle.get()};
  rille_schedule* made = nullptr;
  REQUIRE(rille_schedule_chain(parts, 2, &made, e) == RILLE_OK);
  const auto chain = owned(made);
  int moved = 1;
  REQUIRE(rille_schedule_step(made, &moved, e) == RILLE_OK);
  CHECK(moved == 0);
  for (int i = 0; i < 20; ++i) {
    double now = 0, momentum = 0;
    size_t count = 0;
    REQUIRE(rille_schedule_last_lr(made, &now, 1, &count, e) == RILLE_OK);
    REQUIRE(rille_optimizer_momentum(optimizer.get(), 0, &momentum, e) == RILLE_OK);
    CHECK(count == 1);
    CHECK(now == twin.lr());
    CHECK(momentum == twin.momentum());
    optimizer.step();
    REQUIRE(rille_schedule_step(made, &moved, e) == RILLE_OK);
    CHECK(moved == 1);
    twin.step();
    wanted.step();
  }
  CHECK(rille_schedule_step_count(made) == 20);
  double none = 0;
  size_t count = 0;
  CHECK(rille_schedule_last_lr(made, &none, 0, &count, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "1 rates, and room for 0");
  CHECK(rille_schedule_chain(parts, 1, &made, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "needs two schedules or more, got 1");
}

TEST_CASE("C: a schedule's state, and its end", "[c][schedules]") {
  ErrorPlace e;
  Optimizer optimizer, other;
  const auto options = table_of({{"gamma", rille_value_number(0.5)}});
  const auto first = schedule(optimizer, "Exponential", options);
  const auto second = schedule(other, "Exponential", options);
  optimizer.step();
  REQUIRE(rille_schedule_step(first.get(), nullptr, e) == RILLE_OK);
  rille_tensors* list = nullptr;
  REQUIRE(rille_schedule_state_dict(first.get(), &list, e) == RILLE_OK);
  const auto state = owned(list);
  CHECK(names_of(list) == std::vector<std::string>{"step"});
  REQUIRE(rille_schedule_load_state_dict(second.get(), list, e) == RILLE_OK);
  CHECK(rille_schedule_step_count(second.get()) == 1);
  CHECK(other.lr() == 0.5);
  const auto nothing = owned(rille_tensors_new());
  CHECK(rille_schedule_load_state_dict(second.get(), nothing.get(), e) == RILLE_ERROR_STATE);
  CHECK(e.message() == "'step' is missing");
  optimizer.reset();
  CHECK(at(first, 3) == 0.125);
  CHECK(rille_schedule_step(first.get(), nullptr, e) == RILLE_ERROR_STATE);
  CHECK(e.message() == "the schedule's optimizer is gone");
  CHECK(rille_schedule_step(nullptr, nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "the schedule is NULL");
  rille_schedule_delete(nullptr);
}

TEST_CASE("C: Plateau takes a metric, Lambda a function", "[c][schedules]") {
  ErrorPlace e;
  const Optimizer optimizer, other;
  const auto plateau = schedule(
      optimizer, "Plateau",
      table_of({{"patience", rille_value_integer(1)}, {"factor", rille_value_number(0.5)}}));
  std::vector<double> rates;
  for (const double metric : {1.0, 0.5, 0.6, 0.6, 0.4, 0.4, 0.4, 0.4}) {
    int lowered = -1;
    const double before = optimizer.lr();
    REQUIRE(rille_schedule_step_metric(plateau.get(), metric, &lowered, e) == RILLE_OK);
    CHECK(lowered == (optimizer.lr() < before));
    rates.push_back(optimizer.lr());
  }
  CHECK(rates == std::vector<double>{1, 1, 1, .5, .5, .5, .25, .25});
  CHECK(rille_schedule_step(plateau.get(), nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "Plateau is no function of the step");
  CHECK(rille_schedule_step_count(plateau.get()) == 0);

  const auto half = [](void*, const rille_value* const* arguments, size_t, rille_results* results,
                       rille_error** error) -> rille_status {
    int64_t step = 0;
    if (const rille_status s = rille_value_get_integer(arguments[0], &step, error)) return s;
    if (step == 9) {
      *error = rille_error_new("E_MINE", "no ninth step");
      return RILLE_ERROR_DATA;
    }
    const double factor = 1.0 / static_cast<double>(step + 1);
    return rille_results_add(results, owned(rille_value_number(factor)).get(), error);
  };
  const auto lambda =
      schedule(other, "Lambda",
               table_of({{"factor", rille_value_function(half, nullptr, nullptr, "half")}}));
  CHECK(at(lambda, 3) == 0.25);
  double out = 0;
  CHECK(rille_schedule_at(lambda.get(), 9, 0, &out, e) != RILLE_OK);
  CHECK(e.code() == "E_MINE");
  CHECK(rille_schedule_step_metric(lambda.get(), 1, nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "only Plateau steps by a metric");
}

TEST_CASE("C: wrong schedules and options are named", "[c][schedules]") {
  const Optimizer optimizer;
  CHECK(refused(optimizer, "Cosine", nullptr) == "Cosine: 'steps' is missing");
  CHECK(refused(optimizer, "MultiStep", nullptr) == "MultiStep: 'milestones' is missing");
  CHECK(refused(optimizer, "Lambda", nullptr) == "Lambda: 'factor' is missing");
  CHECK(refused(optimizer, "warmup_cosine",
                table_of({{"warmup", rille_value_string("a", 1)}}).get()) ==
        "warmup_cosine: 'warmup' must be an integer, got a string");
  CHECK(refused(optimizer, "Cosine", table_of({{"steps", rille_value_number(2.5)}}).get()) ==
        "Cosine: 'steps' must be a whole number, got a number");
  CHECK(refused(optimizer, "Step", table_of({{"size", rille_value_integer(0)}}).get()) ==
        "Step: 'size' must be above 0, got 0");
  CHECK(refused(optimizer, "Step", table_of({{"sise", rille_value_integer(3)}}).get()) ==
        "Step: unknown option 'sise'\n     takes: gamma size skip_aware");
  CHECK(refused(optimizer, "Cosin", nullptr)
            .starts_with("there is no schedule 'Cosin'\n     hint: Step, MultiStep, "));
}
