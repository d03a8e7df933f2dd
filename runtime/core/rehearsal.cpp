#include "core/rehearsal.h"

#include "core/storage.h"

namespace rille {

struct Rehearsal::Counted {
  std::shared_ptr<Rehearsal> rehearsal;
  int64_t bytes;
  static void release(void* self) {
    const std::unique_ptr<Counted> counted(static_cast<Counted*>(self));
    counted->rehearsal->in_use_ -= counted->bytes;
  }
};

namespace {
std::shared_ptr<Rehearsal>& entered() {
  thread_local std::shared_ptr<Rehearsal> it;
  return it;
}
}  // namespace

const std::shared_ptr<Rehearsal>& Rehearsal::current() {
  static const auto& none = *new const std::shared_ptr<Rehearsal>;  // never destroyed
  const std::shared_ptr<Rehearsal>& it = entered();
  return it && it->context_ == &Context::current() ? it : none;
}
void Rehearsal::enter(std::shared_ptr<Rehearsal> rehearsal) { entered() = std::move(rehearsal); }

void Rehearsal::count(const std::shared_ptr<Rehearsal>& it, Storage& block, size_t bytes) {
  const auto count = static_cast<int64_t>(bytes);
  block.release_context = new Counted{it, count};
  block.release = Counted::release;
  it->in_use_ += count;
  it->peak_ = std::max(it->peak_, it->in_use());
}

}  // namespace rille
