// Checkpoint blocks of scripts (autograd/block.h): stdlib/rille/checkpoint begins and ends their
// first run, so that a yield passes through it.
#include "autograd/block.h"
#include "autograd/checkpoint.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/hook_scope.h"
#include "interpreter/bind/named.h"
#include "interpreter/bind/selection.h"
#include "interpreter/lua/gate.h"
#include "interpreter/lua/random_state.h"
#include "interpreter/lua/second_run.h"

namespace rille::bind {
namespace {

using autograd::Block;
using autograd::BlockOptions;
using autograd::Determinism;
using lua::CallbackRef;

// math.random as the first run met it, and afterwards as it was.
class LuaRandom {
 public:
  LuaRandom(Interpreter& in, const std::optional<lua::RandomState>& first) : in_(in) {
    if (!first) return;
    now_ = lua::random_state(in);
    lua::set_random_state(in, *first);
  }
  ~LuaRandom() {
    if (now_) lua::set_random_state(in_, *now_);
  }
  LuaRandom(const LuaRandom&) = delete;
  LuaRandom& operator=(const LuaRandom&) = delete;

 private:
  Interpreter& in_;
  std::optional<lua::RandomState> now_;
};

// The function of a block, for its second run.
class Again {
 public:
  Again(Call& c, CallbackRef function, bool preserve_rng) : function_(std::move(function)) {
    if (preserve_rng && lua::has_random_state(c.interpreter()))
      random_ = lua::random_state(c.interpreter());
  }
  std::vector<Tensor> operator()(std::span<const Tensor> inputs) const {
    Interpreter& in = function_->gate().interpreter();
    const lua::SecondRunScope scope(in);
    const LuaRandom random(in, random_);
    Table list;
    for (const Tensor& t : inputs) list.list.emplace_back(t);
    std::vector<Tensor> outs;
    for (const Value& v : (*function_)({list}))
      if (const Tensor* t = v.get<Tensor>()) outs.push_back(*t);
    if (in.running) lua::collect_boxes(in);  // else a host goes backward
    return outs;
  }

 private:
  CallbackRef function_;
  std::optional<lua::RandomState> random_;
};

// A host may go backward through a script's block on any thread, with a context of its own.
autograd::Within within(const CallbackRef& function) {
  return [function](const std::function<void()>& work) {
    const lua::Inside inside(function->gate());
    struct Entered {
      Context* before;
      ~Entered() { Context::enter(before); }
    } const entered{Context::enter(&function->gate().interpreter().context)};
    work();
  };
}

Determinism determinism_of(const std::string& word) {
  return word == "none"     ? Determinism::none
         : word == "values" ? Determinism::values
                            : Determinism::kinds;
}

// { determinism, preserve_rng, early_stop, policy, spill, allow_mutation, spill_inputs }
BlockOptions options_at(Call& c, int i, SelectionPolicy* policy) {
  BlockOptions options{.determinism = determinism_of(c.text_option(i, "determinism").value_or("")),
                       .preserve_rng = c.flag_option(i, "preserve_rng", true),
                       .early_stop = c.flag_option(i, "early_stop", true)};
  const std::shared_ptr<SpillFile> spill = spill_option(c, i);
  if (policy)
    options.selection = std::make_shared<autograd::Selection>(
        autograd::SelectionOptions{policy->make(), spill, c.flag_option(i, "allow_mutation")});
  if (c.flag_option(i, "spill_inputs")) options.spill = spill;
  options.leave = [in = &c.interpreter()] { lua::end_second_run_early(*in); };
  return options;
}

// native.block_begin(again, inputs, options) -> the scope of the first run; nothing where no
// gradients are recorded, so that the call is a plain one.
void begin(Call& c) {
  named("checkpoint", [&] {
    if (!c.context().grad()) return;
    const std::vector<Tensor> inputs = c.tensors(2, "inputs");
    const std::shared_ptr<SelectionPolicy> policy = policy_option(c, 3);
    BlockOptions options = options_at(c, 3, policy.get());
    const CallbackRef function = c.function(1, "again");
    options.within = within(function);
    const Again again(c, function, options.preserve_rng);
    const auto block = std::make_shared<Block>(
        inputs, [again](const std::vector<Tensor>& given) { again(given); }, std::move(options));
    if (policy) policy->belongs_to(*block);
    c.give(hook_scope(c, block));
  });
}

// native.block_reentrant(first, again, inputs, preserve_rng) -> the results that are tensors, as
// they are to be used. `first` is run now, `again` for backward.
void reentrant(Call& c) {
  named("checkpoint", [&] {
    const CallbackRef first = c.function(1, "first");
    const bool preserve_rng = c.boolean(4, "preserve_rng");
    const CallbackRef function = c.function(2, "again");
    const Again again(c, function, preserve_rng);

    const auto now = [&first] {
      std::vector<Tensor> outs;
      for (const Value& v : (*first)({}))
        if (const Tensor* t = v.get<Tensor>()) outs.push_back(*t);
      return outs;
    };
    for (const Tensor& t : autograd::checkpoint_reentrant(now, again, c.tensors(3, "inputs"),
                                                          preserve_rng, within(function)))
      c.give(t);
  });
}

// native.block_ended(): what the function made and did not give is garbage.
void ended(Call& c) { lua::collect_boxes(c.interpreter()); }

// native.second_run_begins(): called by its coroutine. native.second_run_ended() -> whether it was
// told that it may end early.
void second_run_begins(Call& c) { lua::begin_second_run(c.interpreter()); }
void second_run_ended(Call& c) {
  c.give(lua::may_end_early(c.interpreter()));
  c.interpreter().leaving = nullptr;
}

}  // namespace

void bind_blocks(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"block_begin", begin},
                                            {"block_ended", ended},
                                            {"block_reentrant", reentrant},
                                            {"second_run_begins", second_run_begins},
                                            {"second_run_ended", second_run_ended}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
