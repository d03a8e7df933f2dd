// Threads with a Lua state each, which carry out jobs. Values go in and out as parcels, so no state
// is ever touched by two threads. The pool is used by the thread of its own state only;
// native.worker_pool makes one.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "interpreter/lua/ship.h"

namespace rille::lua {

/// What every worker begins with: `require(module)(setup, number)` gives the function for jobs.
struct WorkerPlan {
  std::string module;
  Parcel setup;
  std::string path;                      // package.path
  void (*bind)(Interpreter&) = nullptr;  // defines what scripts get
  uint32_t flags = 0;                    // modes that workers inherit, besides the default ones
  DType default_dtype = DType::f32;
  Device default_device;
  Stress stress;
  std::FILE* out = stdout;  // of the interpreter that the pool is part of
  std::FILE* log = stderr;
  bool hosted = false;
  Policy policy;
  std::shared_ptr<Budget> budget;  // of the run that the pool is part of, which workers share
};

class WorkerPool : public Object {
 public:
  static constexpr std::string_view kWhat = "a worker pool";
  struct Finished {
    int64_t id;
    Parcel result;
  };

  /// Throws where a thread can't be had.
  WorkerPool(int count, WorkerPlan plan);
  ~WorkerPool() override;
  std::string_view type() const override { return "rille.WorkerPool"; }

  void submit(int64_t id, Parcel job);
  /// The result of whichever job is done first; nothing after `timeout` seconds. A worker's error
  /// is thrown as E_WORKER.
  std::optional<Finished> next(std::optional<double> timeout);
  /// Ends the threads in the middle of their jobs, drops the others. What can't be interrupted,
  /// such as another program, is waited for, but not for long. May be called again.
  void close();

 private:
  struct Shared;
  struct Open;
  class AtWork;
  std::shared_ptr<Shared> shared_;  // each thread holds it, too
};

}  // namespace rille::lua
