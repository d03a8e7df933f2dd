#include "interpreter/api/loader_workers.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/fail.h"
#include "core/references.h"
#include "core/signals_blocked.h"
#include "core/threads.h"
#include "interpreter/api/inside.h"

namespace rille::api {

struct LoaderWorkers::Ticket {
  LoaderJob job;
  bool done = false;
  v1::data::Batch batch;
  std::exception_ptr failure;
};

namespace {

constexpr double kLongest = 1e8;  // seconds that a clock can add

v1::Error of_worker(int64_t number, std::optional<int64_t> sample, const char* what) {
  v1::Error e(v1::ErrorKind::data, "E_WORKER",
              fmt::format("worker {} failed", number) +
                  (sample ? fmt::format(", sample {}", *sample) : ""));
  e.op = "Loader";
  e.facts.emplace_back(what);
  return e;
}

// The exception in flight, as the loader's thread is to see it.
std::exception_ptr failure_of(int64_t number, std::optional<int64_t> sample) {
  try {
    throw;
  } catch (v1::Error& e) {
    e.facts.push_back(fmt::format("worker {}", number));
    return std::current_exception();
  } catch (const std::exception& e) {
    return std::make_exception_ptr(of_worker(number, sample, e.what()));
  } catch (...) {
    return std::make_exception_ptr(of_worker(number, sample, "it threw no std::exception"));
  }
}

}  // namespace

// ---- the end of the process
// ---------------------------------------------------------------------------------------

// Loaders whose threads run. A host may end by exit() in the middle of an epoch: then the threads
// must be gone before C++ takes away the tables that they use. Loaders come and go on several
// threads, and this list outlives all of them.
class LoaderWorkers::Open {
 public:
  static Open& all() {
    static auto* const open = [] {
      std::atexit([] { all().stop(); });
      return new Open;
    }();
    return *open;
  }
  void add(LoaderWorkers* workers) {
    const std::lock_guard lock(mutex_);
    list_.push_back(workers);
  }
  void remove(LoaderWorkers* workers) {
    const std::lock_guard lock(mutex_);
    std::erase(list_, workers);
  }

 private:
  // A host's function that does not come back must not keep the process from its end.
  static constexpr std::chrono::seconds kPatience{5};

  void stop() {
    const std::lock_guard lock(mutex_);
    for (LoaderWorkers* w : list_) w->ask_to_stop();
    for (LoaderWorkers* w : list_) {
      std::unique_lock its_lock(w->mutex_);
      w->thread_ended_.wait_for(its_lock, kPatience, [w] { return w->running_ == 0; });
    }
  }

  std::mutex mutex_;
  std::vector<LoaderWorkers*> list_;
};

// ---- the loader's side
// ---------------------------------------------------------------------------------------

LoaderWorkers::LoaderWorkers(LoaderPlan plan, int64_t count)
    : plan_(std::move(plan)),
      flags_(Context().flags | (Context::current().flags & kDeterministic)),
      dtype_(Context::current().default_dtype),
      device_(Context::current().default_device) {
  share_references();
  Open::all().add(this);
  const SignalsBlocked quiet;
  try {
    threads_.reserve(static_cast<size_t>(count));
    for (int64_t number = 0; number < count; ++number) {
      const std::lock_guard lock(mutex_);
      threads_.emplace_back([this, number] { work(number); });
      ++running_;
    }
  } catch (const std::exception&) {
    stop();
    throw fail(Kind::memory, "E_OOM", "{} threads can't be had", count);
  }
}

LoaderWorkers::~LoaderWorkers() { stop(); }

void LoaderWorkers::ask_to_stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  job_came_.notify_all();
}

void LoaderWorkers::stop() {
  ask_to_stop();
  for (std::thread& t : threads_) t.join();
  Open::all().remove(this);
}

void LoaderWorkers::submit(LoaderJob job) {
  auto ticket = std::make_shared<Ticket>();
  ticket->job = std::move(job);
  const std::lock_guard lock(mutex_);
  jobs_.push_back(ticket);
  tickets_.push_back(std::move(ticket));
  job_came_.notify_one();
}

bool LoaderWorkers::wait(double timeout) {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return tickets_.front()->done; };
  if (timeout > 0) {
    const std::chrono::duration<double> seconds(std::min(timeout, kLongest));
    return batch_came_.wait_for(
        lock, std::chrono::duration_cast<std::chrono::milliseconds>(seconds), done);
  }
  batch_came_.wait(lock, done);
  return true;
}

v1::data::Batch LoaderWorkers::take() {
  std::unique_lock lock(mutex_);
  const TicketRef first = std::move(tickets_.front());
  tickets_.pop_front();
  lock.unlock();
  // Out of the ticket, which its worker may hold a while longer: an exception ends on one thread.
  if (auto failure = std::exchange(first->failure, nullptr)) std::rethrow_exception(failure);
  return std::move(first->batch);
}

// What a worker is at goes on; nobody looks at its ticket any more.
void LoaderWorkers::drop() {
  const std::lock_guard lock(mutex_);
  jobs_.clear();
  tickets_.clear();
}

// ---- a worker's side
// -------------------------------------------------------------------------------

void LoaderWorkers::work(int64_t number) {
  set_threads(1);
  Context context;
  context.flags = flags_;
  context.default_dtype = dtype_;
  context.default_device = device_;
  Context::enter(&context);
  while (const TicketRef ticket = next_job()) carry_out(*ticket, number);
  Context::enter(nullptr);
  const std::lock_guard lock(mutex_);
  --running_;
  thread_ended_.notify_all();
}

LoaderWorkers::TicketRef LoaderWorkers::next_job() {
  std::unique_lock lock(mutex_);
  job_came_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
  if (stop_) return nullptr;
  TicketRef ticket = std::move(jobs_.front());
  jobs_.pop_front();
  return ticket;
}

// No error of Lua's comes this way: what a dataset may call runs scripts in protected mode, so
// everything may be caught.
void LoaderWorkers::carry_out(Ticket& ticket, int64_t number) noexcept {
  v1::data::Batch batch;
  std::exception_ptr failure;
  std::optional<int64_t> sample;
  try {
    batch = fetch(plan_, ticket.job, sample, &stop_);
  } catch (...) {
    try {
      failure = failure_of(number, sample);
    } catch (const std::bad_alloc&) {
      failure = std::current_exception();
    }
  }
  const std::lock_guard lock(mutex_);
  ticket.batch = std::move(batch);
  ticket.failure = std::move(failure);
  ticket.done = true;
  batch_came_.notify_one();
}

}  // namespace rille::api
