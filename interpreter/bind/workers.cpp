// native.worker_pool: threads with a Lua state each, for the data loader.
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/worker_pool.h"

namespace rille::bind {
namespace {

using lua::WorkerPool;

constexpr int64_t kMostWorkers = 1024;

// native.worker_pool(n, module, setup) -> pool
void worker_pool(Call& c) {
  const int64_t n = c.integer(1, "n");
  if (n < 1 || n > kMostWorkers)
    throw arg_error("'n' must be between 1 and {}, got {}", kMostWorkers, n);
  lua::WorkerPlan plan;
  plan.module = c.string(2, "module");
  plan.setup = lua::pack(c.interpreter(), 3);
  plan.path = lua::search_path(c.interpreter());
  plan.bind = bind_all;
  plan.flags = c.context().flags & kDeterministic;
  plan.default_dtype = c.context().default_dtype;
  plan.default_device = c.context().default_device;
  plan.stress = c.interpreter().stress;
  plan.policy = c.interpreter().policy;
  if (plan.policy.limited()) plan.budget = c.interpreter().budget;
  plan.stress.allocations = 0;
  plan.out = c.interpreter().out;
  plan.log = c.interpreter().log;
  plan.hosted = c.interpreter().hosted;
  c.give(lua::ObjectRef(std::make_shared<WorkerPool>(static_cast<int>(n), std::move(plan))));
}

// pool:submit(id, job)
void submit(Call& c) {
  const auto pool = c.object<WorkerPool>(1, "pool");
  pool->submit(c.integer(2, "id"), lua::pack(c.interpreter(), 3));
}

// pool:next([timeout]) -> id, result; nil when the time is over
void next(Call& c) {
  const auto pool = c.object<WorkerPool>(1, "pool");
  std::optional<double> timeout;
  if (c.has(2)) timeout = c.number(2, "timeout");
  const auto finished = pool->next(timeout);
  if (!finished) return c.give({});
  Value result = lua::unpack(c.interpreter(), finished->result);
  c.give(finished->id);
  c.give(std::move(result));
}

// pool:close()
void close(Call& c) { c.object<WorkerPool>(1, "pool")->close(); }

}  // namespace

void bind_workers(Interpreter& in) {
  static constexpr NativeEntry methods[] = {{"submit", submit}, {"next", next}, {"close", close}};
  static constexpr NativeEntry natives[] = {{"worker_pool", worker_pool}};
  lua::prepare_shipping(in);
  lua::define_class(in, "rille.WorkerPool", methods);
  lua::define_outside(in, "rille.native", natives);
}

}  // namespace rille::bind
