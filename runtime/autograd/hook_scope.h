// Scopes of saved-tensor hooks. Whether hooks are asked is a part of the thread's word of modes, so
// each coroutine has its own answer; a scope puts back the one that it found.
#pragma once
#include <memory>

#include "core/context.h"

namespace rille::autograd {

/// Makes the hook the innermost one. Returns whether hooks were asked before: for remove_hook.
bool add_hook(Context& c, std::shared_ptr<SavedHook> hook);
/// Takes the hook from wherever it is on the list.
void remove_hook(Context& c, const SavedHook* hook, bool asked_before);

/// While it lives the hook is the innermost one.
class HookScope {
 public:
  explicit HookScope(std::shared_ptr<SavedHook> hook);
  ~HookScope();
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

 private:
  Context& context_;
  const std::shared_ptr<SavedHook> hook_;
  const bool asked_before_;
};

}  // namespace rille::autograd
