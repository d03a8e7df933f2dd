#include "interpreter/lua/owned.h"

#include <algorithm>
#include <new>
#include <utility>

#include "autograd/node.h"
#include "core/tensor.h"
#include "interpreter/lua/value.h"

namespace rille::lua {
namespace {

void release(BoxKind kind, void* impl) noexcept {
  if (kind == BoxKind::tensor)
    Tensor(static_cast<TensorImpl*>(impl));
  else
    delete static_cast<ObjectRef*>(impl);
}

// Parameters outlive the scope they were made in.
bool wants_gradient(void* impl) noexcept {
  const auto* m =
      static_cast<const autograd::GradMeta*>(static_cast<const TensorImpl*>(impl)->grad.get());
  return m && m->requires_grad && !m->fn;
}

}  // namespace

uint32_t Owned::take(const void* box) noexcept {
  if (free_ != kNone) {
    const uint32_t slot = free_;
    free_ = slots_[slot].next;
    slots_[slot].box = box;
    return slot;
  }
  if (slots_.size() >= kNone) return kNone;
  try {
    slots_.push_back({nullptr, box, kNone, BoxKind::tensor});
  } catch (const std::bad_alloc&) {
    return kNone;
  }
  return static_cast<uint32_t>(slots_.size() - 1);
}

// What is freed may itself free boxes: the slot is in order before that.
void Owned::clear(uint32_t slot) noexcept {
  if (void* impl = std::exchange(slots_[slot].impl, nullptr)) release(slots_[slot].kind, impl);
}

void Owned::close(uint32_t slot, Closing closing) noexcept {
  if (slot >= slots_.size() || !slots_[slot].impl) return;
  Slot& s = slots_[slot];
  s.closed_in = closing.at.source;
  s.closed_line = closing.at.line;
  s.closed_by_scope = closing.by_scope;
  clear(slot);
}

void Owned::drop(uint32_t slot) noexcept {
  if (slot >= slots_.size()) return;  // all was released before
  const uint32_t serial = slots_[slot].serial + 1;
  const Slot was =
      std::exchange(slots_[slot], {nullptr, nullptr, free_, BoxKind::tensor, false, false, serial});
  free_ = slot;
  if (was.impl) release(was.kind, was.impl);
}

// What is freed may itself call Lua, and come here again.
size_t Owned::drop_buried() noexcept {
  size_t dropped = 0;
  for (; buried_ != kNone; ++dropped) {
    const uint32_t slot = buried_;
    buried_ = slots_[slot].next;
    drop(slot);
  }
  return dropped;
}

void Owned::remember(uint32_t slot, const void* thread) noexcept {
  try {
    made_.push_back({slot, slots_[slot].serial, thread});
  } catch (const std::bad_alloc&) {  // the collector frees it later
  }
}

void Owned::end_scope(size_t began, const void* thread, Site at) noexcept {
  --scopes_;
  size_t left = std::min(began, made_.size());
  for (size_t i = left; i < made_.size(); ++i) {
    const Made m = made_[i];
    Slot& s = slots_[m.slot];
    const bool alive = s.serial == m.serial && s.impl && s.kind == BoxKind::tensor;
    if (m.thread != thread || (alive && std::exchange(s.kept, false)))
      made_[left++] = m;
    else if (alive && !wants_gradient(s.impl))
      close(m.slot, {at, true});
  }
  made_.resize(scopes_ > 0 ? left : 0);
}

size_t Owned::live() const noexcept {
  return static_cast<size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.impl; }));
}

size_t Owned::release_all() noexcept {
  size_t lost = 0;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    lost += slots_[slot].impl != nullptr;
    clear(slot);
  }
  slots_.clear();
  free_ = kNone;
  return lost;
}

}  // namespace rille::lua
