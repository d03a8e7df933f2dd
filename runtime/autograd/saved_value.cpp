#include "autograd/saved_value.h"

#include "core/fail.h"

namespace rille::autograd {
namespace {

// While one lives the innermost hook is off the list, so that what it keeps meets the outer ones.
class OuterHooks {
 public:
  explicit OuterHooks(Context& c)
      : context_(c), outer_(c.saved_hooks.size() - 1), inner_(std::move(c.saved_hooks.back())) {
    c.saved_hooks.pop_back();
    set_flag();
  }
  ~OuterHooks() {
    context_.saved_hooks.resize(outer_);  // a script may have left some open
    context_.saved_hooks.push_back(inner_);
    set_flag();
  }
  OuterHooks(const OuterHooks&) = delete;
  OuterHooks& operator=(const OuterHooks&) = delete;
  const std::shared_ptr<SavedHook>& inner() const { return inner_; }

 private:
  void set_flag() {
    context_.flags = context_.saved_hooks.empty() ? context_.flags & ~uint32_t{kSavedHooks}
                                                  : context_.flags | kSavedHooks;
  }
  Context& context_;
  const size_t outer_;
  const std::shared_ptr<SavedHook> inner_;
};

}  // namespace

void SavedValue::pack(Tensor& t, const char* by) {
  version_ = t.version();
  Context& c = Context::current();
  if (!(c.flags & kSavedHooks) || t.is_number()) [[likely]]
    return;
  const OuterHooks outer(c);
  handle_ = outer.inner()->pack(t, by);
  hook_ = outer.inner();
  t = t.shell();
}

// The ops behind an unpack hook count on the tensor that was packed.
Tensor SavedValue::unpack(const Tensor& packed) const {
  Tensor given = hook_->unpack(handle_);
  if (given.shape() != packed.shape() || given.dtype() != packed.dtype())
    throw shape_error("unpack must return a tensor like the one that was packed, {}{}, not {}{}",
                      name(packed.dtype()), to_string(packed.shape()), name(given.dtype()),
                      to_string(given.shape()))
        .op("saved_tensors");
  if (given.device() != packed.device())
    throw device_error("unpack must return a tensor on the device of the packed one, {}, not {}",
                       to_string(packed.device()), to_string(given.device()))
        .op("saved_tensors");
  return given;
}

Tensor bare(const Tensor& t) { return t.storage() ? t.alias() : t.shell(); }

Tensor with_history(Tensor t, const Edge& edge) {
  if (!edge || !Context::current().grad()) return t;
  Tensor look = bare(t);
  set_history(look, edge.node, edge.slot);
  return look;
}

}  // namespace rille::autograd
