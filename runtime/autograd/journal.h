// What a block writes in place to memory that is older than itself: running statistics, counters,
// its own inputs. The memory's contents before the first such write are kept, so that a second run
// of the block can start from them and leave no trace.
#pragma once
#include <vector>

#include "core/tensor.h"

namespace rille::autograd {

class Journal {
 public:
  /// Memory counts as older where its serial is at most `newest`.
  explicit Journal(uint64_t newest) : newest_(newest) {}

  bool is_older(const Tensor& t) const { return t.storage() && t.storage()->serial <= newest_; }
  bool has(const Tensor& t) const;
  void before_write(const Tensor& t);
  bool is_empty() const { return entries_.empty(); }
  /// Puts the contents back that the memory had before the first write.
  void undo() noexcept;

 private:
  friend class Rewound;
  struct Entry {
    StorageRef storage, before;  // `before` is empty on meta
    uint32_t version = 0;
    const char* written_by = nullptr;
    Site written_at;
  };
  static Entry copy_of(const StorageRef& storage);
  static void put_back(const Entry& entry) noexcept;

  uint64_t newest_;
  std::vector<Entry> entries_;
};

/// While it lives, the memory of a journal holds what it held before the first write, versions
/// included; afterwards what it held when this began.
class Rewound {
 public:
  explicit Rewound(const Journal& journal);
  ~Rewound();
  Rewound(const Rewound&) = delete;
  Rewound& operator=(const Rewound&) = delete;

 private:
  std::vector<Journal::Entry> now_;
};

}  // namespace rille::autograd
