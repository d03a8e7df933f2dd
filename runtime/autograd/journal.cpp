#include "autograd/journal.h"

#include <algorithm>
#include <cstring>

namespace rille::autograd {

bool Journal::has(const Tensor& t) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return e.storage.get() == t.storage().get(); });
}

Journal::Entry Journal::copy_of(const StorageRef& storage) {
  Entry e{storage, {}, storage->version, storage->written_by, storage->written_at};
  if (storage->data && storage->bytes > 0) {
    e.before = allocate_storage(storage->bytes, storage->device);
    std::memcpy(e.before->data, storage->data, storage->bytes);
  }
  return e;
}

void Journal::put_back(const Entry& e) noexcept {
  if (e.before) std::memcpy(e.storage->data, e.before->data, e.storage->bytes);
  e.storage->version = e.version;
  e.storage->written_by = e.written_by;
  e.storage->written_at = e.written_at;
}

void Journal::before_write(const Tensor& t) {
  if (is_older(t) && !has(t)) entries_.push_back(copy_of(t.storage()));
}

void Journal::undo() noexcept {
  for (const Entry& e : entries_) put_back(e);
  entries_.clear();
}

// All copies first: making one may throw, putting one back may not.
Rewound::Rewound(const Journal& journal) {
  now_.reserve(journal.entries_.size());
  for (const Journal::Entry& e : journal.entries_) now_.push_back(Journal::copy_of(e.storage));
  for (const Journal::Entry& e : journal.entries_) Journal::put_back(e);
}

Rewound::~Rewound() {
  for (const Journal::Entry& e : now_) Journal::put_back(e);
}

}  // namespace rille::autograd
