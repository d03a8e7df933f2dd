#include "interpreter/bind/hook_scope.h"

#include "autograd/hook_scope.h"

namespace rille::bind {
namespace {

class Scope final : public lua::Object {
 public:
  Scope(Context& c, std::shared_ptr<SavedHook> hook)
      : hook_(hook), asked_before_(autograd::add_hook(c, hook)) {}
  static constexpr std::string_view kWhat = "a scope of saved tensors";
  std::string_view type() const override { return "rille.native.HookScope"; }
  void close(Context& c) {
    if (hook_) autograd::remove_hook(c, hook_.get(), asked_before_);
    hook_.reset();
  }

 private:
  std::shared_ptr<SavedHook> hook_;
  bool asked_before_;
};

void close(Call& c) { c.object<Scope>(1, "self")->close(c.context()); }

}  // namespace

lua::ObjectRef hook_scope(Call& c, std::shared_ptr<SavedHook> hook) {
  return std::make_shared<Scope>(c.context(), std::move(hook));
}

void bind_hook_scopes(Interpreter& in) {
  static constexpr NativeEntry methods[] = {{"close", close}};
  lua::define_class(in, "rille.native.HookScope", methods);
}

}  // namespace rille::bind
