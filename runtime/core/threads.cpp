#include "core/threads.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "core/budget.h"
#include "core/forked.h"
#include "core/references.h"

namespace rille {
namespace {

using Body = FunctionRef<void(int64_t, int64_t)>;

constexpr std::chrono::milliseconds kPiece{2};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t whole_units(int64_t n, int64_t unit) {
  unit = std::max<int64_t>(1, unit);
  return ceil_div(std::max<int64_t>(1, n), unit) * unit;
}

// Under a budget that may end a computation: in pieces of some milliseconds, so that it ends soon
// after it has to. Pieces are whole grains, so the results are the same.
void run_pieces(int64_t begin, int64_t end, int64_t grain, Budget* budget, const Body& body) {
  if (!budget) return body(begin, end);
  const Working working(budget);
  for (int64_t piece = grain; begin < end && !budget->over();) {
    const auto before = std::chrono::steady_clock::now();
    const int64_t stop = end - begin > piece ? begin + piece : end;
    body(begin, stop);
    begin = stop;
    if (begin < end && std::chrono::steady_clock::now() - before < kPiece) piece *= 2;
  }
}

// On the thread that began the loop, once no other is in it.
void end_early(const Budget* budget) {
  if (budget && budget->is_over()) budget->raise();
}

}  // namespace

#if defined(RILLE_SERIAL)
int threads() { return 1; }
void set_threads(int) {}
void parallel_evenly(int64_t n, int64_t least, int64_t unit, Body body) {
  if (n <= 0) return;
  Budget* budget = Budget::ending();
  run_pieces(0, n, whole_units(least, unit), budget, body);
  end_early(budget);
}
#else

// More than these the system may refuse, which OpenMP answers with the end of the process. So many
// more than there are processors make nothing faster.
int most_threads() {
  static const int most = std::max(64, 4 * static_cast<int>(std::thread::hardware_concurrency()));
  return most;
}

int threads() {
  if (pool_is_lost()) return 1;
  const int n = omp_get_max_threads();
  if (n <= most_threads()) return std::max(1, n);
  omp_set_num_threads(most_threads());  // for whoever else asks OpenMP
  return most_threads();
}
void set_threads(int n) { omp_set_num_threads(std::clamp(n, 1, most_threads())); }

void parallel_evenly(int64_t n, int64_t least, int64_t unit, Body body) {
  if (n <= 0) return;
  unit = std::max<int64_t>(1, unit);
  least = whole_units(least, unit);
  Budget* budget = Budget::ending();
  if (n <= least) {
    if (budget && budget->over()) budget->raise();
    body(0, n);
    return end_early(budget);
  }
  const int team = static_cast<int>(std::min<int64_t>(ceil_div(n, least), threads()));
  if (team <= 1 || omp_in_parallel() || !pool_may_run()) {
    run_pieces(0, n, least, budget, body);
    return end_early(budget);
  }
  const int64_t units = ceil_div(n, unit);
  const SharedReferences team_holds_tensors;
  std::exception_ptr failure;
#pragma omp parallel num_threads(team)
  {
    const int64_t parts = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = units * me / parts * unit;
    const int64_t end = std::min(n, units * (me + 1) / parts * unit);
    try {
      run_pieces(begin, end, least, budget, body);
    } catch (...) {  // an exception must not leave the parallel region
#pragma omp critical(rille_parallel_for)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  end_early(budget);
}
#endif

void parallel_for(int64_t n, int64_t grain, Body body) { parallel_evenly(n, grain, grain, body); }

}  // namespace rille
