#include "interpreter/api/loader_workers.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/fail.h"
#include "core/references.h"
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

// A new thread inherits the mask: signals are for the host's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

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

LoaderWorkers::LoaderWorkers(LoaderPlan plan, int64_t count)
    : plan_(std::move(plan)),
      flags_(Context().flags | (Context::current().flags & kDeterministic)),
      dtype_(Context::current().default_dtype),
      device_(Context::current().default_device) {
  share_references();
  const SignalsBlocked quiet;
  try {
    for (int64_t number = 0; number < count; ++number)
      threads_.emplace_back([this, number] { work(number); });
  } catch (const std::system_error&) {
    stop();
    throw fail(Kind::memory, "E_OOM", "{} threads can't be had", count);
  }
}

LoaderWorkers::~LoaderWorkers() { stop(); }

void LoaderWorkers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    job_came_.notify_all();
  }
  for (std::thread& t : threads_) t.join();
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
  if (first->failure) std::rethrow_exception(first->failure);
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
