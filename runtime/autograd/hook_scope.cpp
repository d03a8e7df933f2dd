#include "autograd/hook_scope.h"

#include <algorithm>
#include <iterator>

namespace rille::autograd {

bool add_hook(Context& c, std::shared_ptr<SavedHook> hook) {
  c.saved_hooks.push_back(std::move(hook));
  const bool before = c.flags & kSavedHooks;
  c.flags |= kSavedHooks;
  return before;
}

void remove_hook(Context& c, const SavedHook* hook, bool asked_before) {
  const auto is_it = [&](const std::shared_ptr<SavedHook>& h) { return h.get() == hook; };
  const auto it = std::find_if(c.saved_hooks.rbegin(), c.saved_hooks.rend(), is_it);
  if (it == c.saved_hooks.rend()) return;
  c.saved_hooks.erase(std::next(it).base());
  if (!asked_before || c.saved_hooks.empty()) c.flags &= ~uint32_t{kSavedHooks};
}

HookScope::HookScope(std::shared_ptr<SavedHook> hook)
    : context_(Context::current()), hook_(hook), asked_before_(add_hook(context_, hook)) {}
HookScope::~HookScope() { remove_hook(context_, hook_.get(), asked_before_); }

}  // namespace rille::autograd
