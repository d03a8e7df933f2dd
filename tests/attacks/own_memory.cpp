#include "attacks/own_memory.h"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace rille::attacks {
namespace {

// A line of /proc/self/status, in bytes; -1 where there is none.
int64_t status_of(const char* name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::stoll(line.substr(std::strlen(name) + 1)) << 10;
  return -1;
}

void read_code() {
#if defined(MADV_POPULATE_READ)
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, rights) != 3)
      continue;
    if (line.find(" /") == line.npos) continue;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
  }
#endif
}

}  // namespace

bool OwnMemory::measurable() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return status_of("VmHWM:") > 0 && std::ofstream("/proc/self/clear_refs").good();
#endif
}

OwnMemory::OwnMemory() {
  read_code();
  std::ofstream("/proc/self/clear_refs") << "5";  // the most is what there is now
  before_ = status_of("VmRSS:");
}

int64_t OwnMemory::most() const { return status_of("VmHWM:") - before_; }

}  // namespace rille::attacks
