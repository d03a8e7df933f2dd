#include "core/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

namespace rille {
namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

// The number in a file of the control group; "max", or no such file, is no bound.
int64_t bound_in(const char* path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path, "re"));
  unsigned long long bytes = 0;
  if (!file || std::fscanf(file.get(), "%llu", &bytes) != 1 || bytes == 0) return kUnbounded;
  return static_cast<int64_t>(std::min<unsigned long long>(bytes, kUnbounded));
}

int64_t physical() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? int64_t{pages} * page : kUnbounded;
}

}  // namespace

int64_t machine_memory() {
  return std::min({physical(), bound_in("/sys/fs/cgroup/memory.max"),
                   bound_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

}  // namespace rille
