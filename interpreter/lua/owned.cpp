#include "interpreter/lua/owned.h"

#include <algorithm>
#include <new>

#include "core/tensor.h"
#include "interpreter/lua/value.h"

namespace rille::lua {

void release(BoxKind kind, void* impl) noexcept {
  if (kind == BoxKind::tensor)
    Tensor(static_cast<TensorImpl*>(impl));
  else
    delete static_cast<ObjectRef*>(impl);
}

uint32_t Owned::take() noexcept {
  if (free_ != kNone) {
    const uint32_t slot = free_;
    free_ = slots_[slot].next;
    return slot;
  }
  if (slots_.size() >= kNone) return kNone;
  try {
    slots_.push_back({nullptr, kNone, BoxKind::tensor});
  } catch (const std::bad_alloc&) {
    return kNone;
  }
  return static_cast<uint32_t>(slots_.size() - 1);
}

size_t Owned::live() const noexcept {
  return static_cast<size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.impl; }));
}

size_t Owned::release_all() noexcept {
  size_t lost = 0;
  for (Slot& s : slots_) {
    if (!s.impl) continue;
    ++lost;
    release(s.kind, s.impl);
  }
  slots_.clear();
  free_ = kNone;
  return lost;
}

}  // namespace rille::lua
