// How much memory this process has taken since it was told to begin: pages of data, as the system
// counts them.
#pragma once
#include <cstdint>

namespace rille::attacks {

class OwnMemory {
 public:
  /// Whether the system can be asked at all.
  static bool measurable();
  /// Begins anew: code is read in, so that its pages don't count as what a script takes.
  OwnMemory();
  /// The most bytes since then, besides those that there were.
  int64_t most() const;

 private:
  int64_t before_;
};

}  // namespace rille::attacks
