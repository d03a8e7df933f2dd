// Scopes of saved-tensor hooks as the Lua half holds them: what native.saved_tensors and
// native.block_begin give, to be ended with scope:close().
#pragma once
#include "interpreter/bind/bind.h"

namespace rille::bind {

/// Makes the hook the innermost one.
lua::ObjectRef hook_scope(Call& c, std::shared_ptr<SavedHook> hook);

void bind_hook_scopes(Interpreter& in);

}  // namespace rille::bind
