#include "interpreter/lua/worker_pool.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <lua.hpp>
#include <mutex>

#include "core/budget.h"
#include "core/fail.h"
#include "core/references.h"
#include "core/signals_blocked.h"
#include "core/threads.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/open.h"

namespace rille::lua {
namespace {

constexpr size_t kStack = size_t{8} << 20;
constexpr double kLongest = 1e8;  // seconds that a clock can add
constexpr std::chrono::milliseconds kLook{10};

struct Job {
  int64_t id;
  Parcel value;
};

struct Failure {
  std::string text;   // empty where there was none
  std::string limit;  // the code of a limit that was met
  bool happened() const { return !text.empty(); }
};

struct Done {
  int64_t id;
  Parcel value;
  int worker;
  Failure failure;
};

}  // namespace

struct WorkerPool::Shared {
  WorkerPlan plan;
  std::mutex mutex;
  std::condition_variable job_came, result_came;
  std::deque<Job> jobs;
  std::deque<Done> results;
  size_t open = 0;                // jobs submitted whose results nobody had yet
  std::optional<Done> unstarted;  // the first worker that could not begin
  bool stop = false;
  std::vector<Interpreter*> interpreters;  // of the workers that are at work
  struct Thread {
    pthread_t handle;
    bool done = false;
  };
  std::vector<Thread> threads;
  std::condition_variable thread_done;

  std::optional<Job> take();
  void finish(Done done, bool started = true);
  bool serve(int number);
  void work(int number);
  void stop_threads();
};

// How long the end of a pool waits for what can't be interrupted: another program, a read.
constexpr std::chrono::seconds kPatience{5};

// ---- the end of the process
// ---------------------------------------------------------------------------------------

// Pools that have threads. A host may end with a state unclosed (os.exit in the stock interpreter):
// then the threads must be gone before C++ takes away the tables that they use. What the pools hold
// is not freed any more. Pools come and go on several threads, and this list outlives all of them.
struct WorkerPool::Open {
  std::mutex mutex;
  std::vector<Shared*> pools;

  static Open& all() {
    static auto* const open = [] {
      std::atexit([] { all().stop(); });
      return new Open;
    }();
    return *open;
  }
  void add(Shared* pool) {
    const std::lock_guard lock(mutex);
    pools.push_back(pool);
  }
  /// Whether it was there: nobody else stops it then.
  bool remove(Shared* pool) {
    const std::lock_guard lock(mutex);
    return std::erase(pools, pool) != 0;
  }
  void stop() {
    const std::lock_guard lock(mutex);
    for (Shared* pool : std::exchange(pools, {})) pool->stop_threads();
  }
};

// Threads that do not end are left to themselves: they hold what they use.
void WorkerPool::Shared::stop_threads() {
  std::unique_lock lock(mutex);
  stop = true;
  job_came.notify_all();
  for (Interpreter* in : interpreters) request_stop(*in);
  thread_done.wait_for(lock, kPatience, [this] {
    return std::all_of(threads.begin(), threads.end(), [](const Thread& t) { return t.done; });
  });
  const std::vector<Thread> ending = std::exchange(threads, {});
  lock.unlock();  // a thread that is done may hold it for a last moment
  for (const Thread& t : ending) {
    if (t.done)
      pthread_join(t.handle, nullptr);
    else
      pthread_detach(t.handle);
  }
}

// The next job, or nothing once the pool is closed.
std::optional<Job> WorkerPool::Shared::take() {
  std::unique_lock lock(mutex);
  job_came.wait(lock, [this] { return stop || !jobs.empty(); });
  if (stop) return {};
  Job job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

void WorkerPool::Shared::finish(Done done, bool started) {
  const std::lock_guard lock(mutex);
  if (started)
    results.push_back(std::move(done));
  else if (!unstarted)
    unstarted = std::move(done);
  result_came.notify_one();
}

namespace {

// ---- a worker's side
// -----------------------------------------------------------------------------

bool is_limit(std::string_view code) { return code == "E_BUDGET" || code == "E_OOM_BUDGET"; }

// The code of the error at index 1, or nothing, pushed.
std::string_view push_code(lua_State* L) {
  lua_pushnil(L);
  if (lua_type(L, 1) == LUA_TTABLE) {
    lua_pushliteral(L, "code");
    lua_rawget(L, 1);
  }
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
}

// Message handler: the error of a limit stays what it is.
int with_traceback(lua_State* L) {
  if (is_limit(push_code(L))) {
    lua_settop(L, 1);
    return 1;
  }
  lua_settop(L, 1);
  luaL_traceback(L, L, luaL_tolstring(L, 1, nullptr), 1);
  return 1;
}

// Under pcall: the text of the error at 1, which its call ended with as 2 says, and its code.
int tell(lua_State* L) {
  const auto status = static_cast<int>(lua_tointeger(L, 2));
  lua_settop(L, 1);
  name_the_limit(L, interpreter_of(L), status);
  luaL_tolstring(L, 1, nullptr);
  push_code(L);
  return 2;
}

struct Beginning {
  Interpreter* in;
  const WorkerPlan* plan;
  int number;
  int function;  // registry reference
};

// Under pcall: finds the function that does the jobs.
int begin_body(lua_State* L) {
  auto& b = *static_cast<Beginning*>(lua_touserdata(L, 1));
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_pushlstring(L, b.plan->path.data(), b.plan->path.size());
  lua_setfield(L, -2, "path");
  lua_getglobal(L, "require");
  lua_pushlstring(L, b.plan->module.data(), b.plan->module.size());
  lua_call(L, 1, 1);
  push_parcel(L, *b.in, b.plan->setup);
  lua_pushinteger(L, b.number);
  lua_call(L, 2, 1);
  luaL_checktype(L, -1, LUA_TFUNCTION);
  b.function = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

struct Running {
  Interpreter* in;
  const Parcel* job;
  int function;
};

// Under pcall: one job. Its result stays on the stack.
int job_body(lua_State* L) {
  const auto& r = *static_cast<const Running*>(lua_touserdata(L, 1));
  lua_rawgeti(L, LUA_REGISTRYINDEX, r.function);
  push_parcel(L, *r.in, *r.job);
  lua_call(L, 1, 1);
  return 1;
}

// Calls body(argument) and leaves its result at index 2.
Failure call_protected(lua_State* L, lua_CFunction body, void* argument) {
  lua_settop(L, 0);
  lua_pushcfunction(L, with_traceback);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, argument);
  const int status = lua_pcall(L, 1, 1, 1);
  if (status == LUA_OK) return {};
  lua_pushcfunction(L, tell);
  lua_insert(L, -2);
  lua_pushinteger(L, status);
  if (lua_pcall(L, 2, 2, 0) != LUA_OK || lua_type(L, -2) != LUA_TSTRING)
    return {"an error without text", status == LUA_ERRMEM ? "E_BUDGET" : ""};
  const std::string code = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  return {lua_tostring(L, -2), is_limit(code) ? code : ""};
}

// A worker's state, closed on every way out.
class State {
 public:
  explicit State(const WorkerPlan& plan) {
    in_.stress = plan.stress;
    in_.out = plan.out;
    in_.log = plan.log;
    in_.hosted = plan.hosted;
    in_.policy = plan.policy;
    in_.policy.interruptible = true;  // for the pool's end
    in_.owner_budget = plan.budget;
    open_state(in_, plan.bind);
    in_.context.flags |= plan.flags;
    in_.context.default_dtype = plan.default_dtype;
    in_.context.default_device = plan.default_device;
  }
  ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Failure begin(const WorkerPlan& plan, int number) {
    const LimitedRun limited(in_);
    Beginning b{&in_, &plan, number, LUA_NOREF};
    Failure failure = call_protected(in_.L, begin_body, &b);
    function_ = b.function;
    return failure;
  }

  Done run(const Job& job, int number) {
    const LimitedRun limited(in_);
    Running r{&in_, &job.value, function_};
    Done done{job.id, {}, number, call_protected(in_.L, job_body, &r)};
    try {
      const Entered entered(in_, in_.L);
      const Spending spending(in_.budget.get());
      if (!done.failure.happened()) done.value = pack(in_, 2);
    } catch (const Error& e) {
      done.failure = {e.what(), is_limit(e.code()) ? std::string(e.code()) : ""};
    } catch (const std::exception& e) {
      done.failure = {e.what(), {}};
    }
    if (auto text = limited.ended_early()) done.failure = {*std::move(text), "E_BUDGET"};
    lua_settop(in_.L, 0);
    return done;
  }

  Interpreter& interpreter() { return in_; }

 private:
  // A member of its own, so that the state is closed where the constructor throws, too.
  struct Opened {
    Interpreter in;
    ~Opened() { close_state(in); }
  };
  Opened opened_;
  Interpreter& in_ = opened_.in;
  int function_ = LUA_NOREF;
};

[[noreturn]] void raise(const Done& done, const char* what) {
  const Failure& f = done.failure;
  if (!f.limit.empty()) {
    const Kind kind = f.limit == "E_BUDGET" ? Kind::interrupt : Kind::memory;
    throw Error(kind, f.limit, fmt::format("worker {} met a limit", done.worker)).fact(f.text);
  }
  throw Error(Kind::data, "E_WORKER", fmt::format("worker {} {}", done.worker, what)).fact(f.text);
}

}  // namespace

// While a worker has a state the pool's end can reach into it.
class WorkerPool::AtWork {
 public:
  AtWork(Shared& shared, Interpreter& in) : shared_(shared), in_(in) {
    const std::lock_guard lock(shared_.mutex);
    shared_.interpreters.push_back(&in_);
    if (shared_.stop) request_stop(in_);
  }
  ~AtWork() {
    const std::lock_guard lock(shared_.mutex);
    std::erase(shared_.interpreters, &in_);
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  Shared& shared_;
  Interpreter& in_;
};

// True where a limit was met: the state goes, and with it what its heap keeps for itself, which the
// other workers could otherwise have beside it.
bool WorkerPool::Shared::serve(int number) {
  State state(plan);
  const AtWork at_work(*this, state.interpreter());
  Failure failure = state.begin(plan, number);
  if (failure.happened()) {
    finish({0, {}, number, std::move(failure)}, false);
    return false;
  }
  while (const auto job = take()) {
    Done done = state.run(*job, number);
    const bool met_limit = !done.failure.limit.empty();
    finish(std::move(done));
    if (met_limit) return true;
  }
  return false;
}

void WorkerPool::Shared::work(int number) {
  set_threads(1);
  try {
    while (serve(number)) malloc_trim(0);
  } catch (const std::exception& e) {
    finish({0, {}, number, {e.what(), {}}}, false);
  }
}

// ---- the owner's side
// ----------------------------------------------------------------------------

WorkerPool::WorkerPool(int count, WorkerPlan plan) : shared_(std::make_shared<Shared>()) {
  struct Start {
    std::shared_ptr<Shared> shared;
    int number;
  };
  const auto body = [](void* p) -> void* {
    const std::unique_ptr<Start> start(static_cast<Start*>(p));
    Shared& shared = *start->shared;
    shared.work(start->number);
    const std::lock_guard lock(shared.mutex);
    const auto mine = static_cast<size_t>(start->number) - 1;
    if (mine < shared.threads.size()) shared.threads[mine].done = true;  // else nobody waits
    shared.thread_done.notify_one();
    return nullptr;
  };
  share_references();
  shared_->plan = std::move(plan);
  shared_->threads.reserve(static_cast<size_t>(count));
  int problem = 0;
  {
    const SignalsBlocked for_new_threads;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    for (int number = 1; number <= count && problem == 0; ++number) {
      auto start = std::make_unique<Start>(Start{shared_, number});
      const std::lock_guard lock(shared_->mutex);  // until it is in the list
      pthread_t thread;
      problem = pthread_create(&thread, &attributes, body, start.get());
      if (problem != 0) break;
      (void)start.release();
      shared_->threads.push_back({thread});
    }
    pthread_attr_destroy(&attributes);
  }
  Open::all().add(shared_.get());
  if (problem == 0) return;
  close();
  throw Error(Kind::memory, "E_OOM", fmt::format("{} threads can't be had", count));
}

WorkerPool::~WorkerPool() { close(); }

void WorkerPool::submit(int64_t id, Parcel job) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->stop) throw Error(Kind::state, "E_STATE", "the pool is closed");
  shared_->jobs.push_back({id, std::move(job)});
  ++shared_->open;
  shared_->job_came.notify_one();
}

std::optional<WorkerPool::Finished> WorkerPool::next(std::optional<double> timeout) {
  Shared& s = *shared_;
  std::unique_lock lock(s.mutex);
  if (s.stop) throw Error(Kind::state, "E_STATE", "the pool is closed");
  if (s.open == 0 && !s.unstarted) throw Error(Kind::state, "E_STATE", "no job is under way");
  const auto ready = [&s] { return s.unstarted || !s.results.empty(); };
  using Clock = std::chrono::steady_clock;
  const std::chrono::duration<double> seconds(
      std::clamp(timeout.value_or(kLongest), 0.0, kLongest));
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
  // A signal wakes nobody here, so who waits for a job that hangs looks whether one came.
  while (!s.result_came.wait_until(lock, std::min(end, Clock::now() + kLook), ready)) {
    if (Budget* b = Budget::ending(); b && b->over()) b->raise();
    if (Clock::now() >= end) return {};
  }
  if (s.results.empty()) raise(*s.unstarted, "could not begin");
  Done done = std::move(s.results.front());
  s.results.pop_front();
  --s.open;
  if (done.failure.happened()) raise(done, "failed");
  return Finished{done.id, std::move(done.value)};
}

void WorkerPool::close() {
  if (Open::all().remove(shared_.get())) shared_->stop_threads();
  const std::lock_guard lock(shared_->mutex);  // a thread may be left
  shared_->jobs.clear();
  shared_->results.clear();
}

}  // namespace rille::lua
