#include "core/written.h"

#include "core/context.h"
#include "core/fail.h"

namespace rille {

void check_writable(const Tensor& t) {
  if (t.storage() && t.storage()->read_only)
    throw fail(Kind::state, "E_READONLY", "the tensor's memory may only be read");
  tell_of_write(t);
}

void tell_of_write(const Tensor& t) {
  const Context& c = Context::current();
  if (!(c.flags & kSavedHooks)) [[likely]]
    return;
  for (const std::shared_ptr<SavedHook>& hook : c.saved_hooks) hook->before_write(t);
}

void mark_written(const Tensor& t, const char* by) {
  Storage& s = *t.storage().get();
  ++s.version;
  s.written_by = by;
  s.written_at = Context::current().site();
}

}  // namespace rille
