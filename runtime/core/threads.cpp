#include "core/threads.h"

#include <omp.h>

#include <algorithm>
#include <exception>

namespace rille {

#if defined(RILLE_SERIAL)
int threads() { return 1; }
void set_threads(int) {}
void parallel_for(int64_t n, int64_t, FunctionRef<void(int64_t, int64_t)> body) {
  if (n > 0) body(0, n);
}
#else

int threads() { return std::max(1, omp_get_max_threads()); }
void set_threads(int n) { omp_set_num_threads(std::max(1, n)); }

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t chunks = (n + grain - 1) / grain;
  const int team = static_cast<int>(std::min<int64_t>(chunks, threads()));
  if (team <= 1 || omp_in_parallel()) {
    body(0, n);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel num_threads(team)
  {
    const int64_t parts = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = chunks * me / parts * grain;
    const int64_t end = std::min(n, chunks * (me + 1) / parts * grain);
    try {
      if (begin < end) body(begin, end);
    } catch (...) {  // an exception must not leave the parallel region
#pragma omp critical(rille_parallel_for)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}
#endif

}  // namespace rille
