// Threads that make a loader's batches ahead of their use. Jobs are taken, and batches given, in
// the order in which they were submitted. Used by the loader's thread only.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/context.h"
#include "interpreter/api/loader_fetch.h"

namespace rille::api {

class LoaderWorkers {
 public:
  /// They compute with the calling thread's defaults. Throws E_OOM where threads can't be had.
  LoaderWorkers(LoaderPlan plan, int64_t count);
  /// Waits for those that are at a sample.
  ~LoaderWorkers();
  LoaderWorkers(const LoaderWorkers&) = delete;
  LoaderWorkers& operator=(const LoaderWorkers&) = delete;

  void submit(LoaderJob job);
  /// True once the first batch is there; false after `timeout` seconds (0: never).
  bool wait(double timeout);
  /// The batch that `wait` waited for. Throws what stood in its way.
  v1::data::Batch take();
  /// Forgets all jobs: their epoch is over.
  void drop();

 private:
  struct Ticket;
  class Open;
  using TicketRef = std::shared_ptr<Ticket>;

  void ask_to_stop();
  void stop();
  void work(int64_t number);
  TicketRef next_job();
  void carry_out(Ticket& ticket, int64_t number) noexcept;

  const LoaderPlan plan_;
  const uint32_t flags_;
  const DType dtype_;
  const Device device_;
  std::mutex mutex_;
  std::condition_variable job_came_, batch_came_, thread_ended_;
  std::deque<TicketRef> jobs_;     // that no worker has begun
  std::deque<TicketRef> tickets_;  // in order: all whose batch was not taken
  std::atomic<bool> stop_ = false;
  int64_t running_ = 0;  // threads
  std::vector<std::thread> threads_;
};

}  // namespace rille::api
