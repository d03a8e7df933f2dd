#include "core/threads.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "core/budget.h"
#include "core/references.h"

namespace rille {
namespace {

using Body = FunctionRef<void(int64_t, int64_t)>;

constexpr std::chrono::milliseconds kPiece{2};

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
void parallel_for(int64_t n, int64_t grain, Body body) {
  if (n <= 0) return;
  Budget* budget = Budget::ending();
  run_pieces(0, n, std::max<int64_t>(1, grain), budget, body);
  end_early(budget);
}
#else

int threads() { return std::max(1, omp_get_max_threads()); }
void set_threads(int n) { omp_set_num_threads(std::max(1, n)); }

void parallel_for(int64_t n, int64_t grain, Body body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  Budget* budget = Budget::ending();
  if (n <= grain) {
    if (budget && budget->over()) budget->raise();
    body(0, n);
    return end_early(budget);
  }
  const int64_t chunks = (n + grain - 1) / grain;
  const int team = static_cast<int>(std::min<int64_t>(chunks, threads()));
  if (team <= 1 || omp_in_parallel()) {
    run_pieces(0, n, grain, budget, body);
    return end_early(budget);
  }
  const SharedReferences team_holds_tensors;
  std::exception_ptr failure;
#pragma omp parallel num_threads(team)
  {
    const int64_t parts = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = chunks * me / parts * grain;
    const int64_t end = std::min(n, chunks * (me + 1) / parts * grain);
    try {
      run_pieces(begin, end, grain, budget, body);
    } catch (...) {  // an exception must not leave the parallel region
#pragma omp critical(rille_parallel_for)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  end_early(budget);
}
#endif

}  // namespace rille
