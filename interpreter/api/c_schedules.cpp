// The C interface: schedules by name, their options from a table.
#include <algorithm>
#include <variant>

#include "interpreter/api/c_optimizer.h"
#include "interpreter/api/c_options.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/schedule_options.h"

struct rille_schedule {
  std::variant<rille::v1::optim::lr::Schedule, rille::v1::optim::lr::Plateau> held;
};

namespace rille::capi {
namespace {

using v1::Error, v1::ErrorKind;

namespace lr = v1::optim::lr;
using v1::optim::Optimizer;

template <class O>
O options_from(const rille_value* from, bool* skip_aware = nullptr) {
  O o;
  Options read(from);
  if (skip_aware) read("skip_aware", *skip_aware);
  lr::each_option(o, [&](const char* name, auto& to, const lr::Bounds&) { read(name, to); });
  read.refuse_others();
  lr::each_option(o, [&](const char* name, auto&, const lr::Bounds& bounds) {
    if (bounds.required && read.asked(name).is_nil()) lr::Checking::throw_missing(name);
  });
  return o;
}

std::function<double(int64_t)> factor_from(const rille_value* from) {
  Options read(from);
  std::function<double(int64_t)> factor;
  if (read.asked("factor").is_nil()) lr::Checking::throw_missing("factor");
  read("factor", factor);
  read.refuse_others();
  return factor;
}

template <class Schedule, class O>
rille_schedule of(Optimizer& optimizer, const rille_value* options) {
  if constexpr (std::is_base_of_v<lr::Schedule, Schedule>) {
    bool skip_aware = true;
    Schedule made(optimizer, options_from<O>(options, &skip_aware));
    made.set_skip_aware(skip_aware);
    return {std::move(made)};
  } else {
    return {Schedule(optimizer, options_from<O>(options))};
  }
}

struct Kind {
  std::string_view name;
  rille_schedule (*make)(Optimizer&, const rille_value*);
};

constexpr Kind kKinds[] = {
    {"Step", of<lr::Step, lr::StepOptions>},
    {"MultiStep", of<lr::MultiStep, lr::MultiStepOptions>},
    {"Constant", of<lr::Constant, lr::ConstantOptions>},
    {"Linear", of<lr::Linear, lr::LinearOptions>},
    {"LinearWarmup", of<lr::LinearWarmup, lr::LinearWarmupOptions>},
    {"Exponential", of<lr::Exponential, lr::ExponentialOptions>},
    {"Polynomial", of<lr::Polynomial, lr::PolynomialOptions>},
    {"Cosine", of<lr::Cosine, lr::CosineOptions>},
    {"CosineRestarts", of<lr::CosineRestarts, lr::CosineRestartsOptions>},
    {"OneCycle", of<lr::OneCycle, lr::OneCycleOptions>},
    {"Cyclic", of<lr::Cyclic, lr::CyclicOptions>},
    {"Lambda",
     [](Optimizer& optimizer, const rille_value* options) -> rille_schedule {
       return {lr::Lambda(optimizer, factor_from(options))};
     }},
    {"WarmupCosine", of<lr::WarmupCosine, lr::WarmupCosineOptions>},
    {"WarmupStableDecay", of<lr::WarmupStableDecay, lr::WarmupStableDecayOptions>},
    {"Plateau", of<lr::Plateau, lr::PlateauOptions>},
    {"warmup_cosine",
     [](Optimizer& optimizer, const rille_value* options) -> rille_schedule {
       return {v1::optim::warmup_cosine(optimizer, options_from<lr::WarmupCosineOptions>(options))};
     }},
};

Error no_such_kind(std::string_view kind) {
  std::string there;
  for (const Kind& k : kKinds) there += (there.empty() ? "" : ", ") + std::string(k.name);
  return {ErrorKind::argument, "E_ARG", "there is no schedule '" + std::string(kind) + "'",
          there + " are there"};
}

rille_schedule make(std::string_view kind, Optimizer& optimizer, const rille_value* options) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const Kind& k) { return k.name == kind; });
  if (found == std::end(kKinds)) throw no_such_kind(kind);
  try {
    return api::guarded_around_host(kind, [&] { return found->make(optimizer, options); });
  } catch (Error& e) {
    if (e.op.empty()) e.op = kind;
    throw;
  }
}

template <class Handle>
auto& held(Handle* s) {
  return given(s, "the schedule").held;
}
template <class Handle>
auto& curve_in(Handle* s) {
  if (auto* found = std::get_if<lr::Schedule>(&held(s))) return *found;
  throw Error(ErrorKind::argument, "E_ARG", "Plateau is no function of the step",
              "rille_schedule_step_metric gives it a metric");
}
lr::Plateau& plateau_in(rille_schedule* s) {
  if (auto* found = std::get_if<lr::Plateau>(&held(s))) return *found;
  throw Error(ErrorKind::argument, "E_ARG", "only Plateau steps by a metric",
              "rille_schedule_step moves this one");
}

}  // namespace
}  // namespace rille::capi

using namespace rille::capi;

rille_status rille_schedule_new(const char* kind, rille_optimizer* optimizer,
                                const rille_value* options, rille_schedule** out,
                                rille_error** error) {
  return guarded(error, [&] {
    rille_schedule*& place = given(out, "the place for the schedule");
    place = new rille_schedule(make(text(kind, "the kind"), optimizer_in(optimizer), options));
  });
}
rille_status rille_schedule_chain(const rille_schedule* const* parts, size_t count,
                                  rille_schedule** out, rille_error** error) {
  return guarded(error, [&] {
    rille_schedule*& place = given(out, "the place for the schedule");
    std::vector<const lr::Schedule*> list;
    for (size_t i = 0; i < count; ++i)
      list.push_back(&curve_in((&given(parts, "the list of schedules"))[i]));
    place = new rille_schedule{lr::chain(list)};
  });
}
void rille_schedule_delete(rille_schedule* s) { delete s; }

rille_status rille_schedule_step(rille_schedule* s, int* moved, rille_error** error) {
  return guarded(error, [&] {
    const bool did = curve_in(s).step();
    if (moved) *moved = did;
  });
}
rille_status rille_schedule_step_metric(rille_schedule* s, double metric, int* lowered,
                                        rille_error** error) {
  return guarded(error, [&] {
    const bool did = plateau_in(s).step(metric);
    if (lowered) *lowered = did;
  });
}
rille_status rille_schedule_at(const rille_schedule* s, int64_t step, size_t group, double* out,
                               rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = curve_in(s).at(step, group); });
}
rille_status rille_schedule_last_lr(const rille_schedule* s, double* out, size_t capacity,
                                    size_t* count, rille_error** error) {
  return guarded(error, [&] {
    const std::vector<double> rates =
        std::visit([](const auto& one) { return one.last_lr(); }, held(s));
    given(count, "the place for the count") = rates.size();
    if (rates.size() > capacity)
      throw Error(
          ErrorKind::argument, "E_ARG",
          std::to_string(rates.size()) + " rates, and room for " + std::to_string(capacity));
    if (!rates.empty()) std::copy(rates.begin(), rates.end(), &given(out, "the place for rates"));
  });
}
int64_t rille_schedule_step_count(const rille_schedule* s) {
  const auto* found = s ? std::get_if<lr::Schedule>(&s->held) : nullptr;
  return found ? found->step_count() : 0;
}

rille_status rille_schedule_state_dict(const rille_schedule* s, rille_tensors** out,
                                       rille_error** error) {
  return give(out, error, [&] {
    return std::visit([](const auto& one) { return one.state_dict(); }, held(s));
  });
}
rille_status rille_schedule_load_state_dict(rille_schedule* s, const rille_tensors* state,
                                            rille_error** error) {
  return guarded(
      error, [&] { std::visit([&](auto& one) { one.load_state_dict(list_in(state)); }, held(s)); });
}

rille_status rille_optimizer_momentum(const rille_optimizer* o, size_t group, double* out,
                                      rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = optimizer_in(o).momentum(group); });
}
