#include "interpreter/lua/generator.h"

#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"

namespace rille::lua {

Draw draw_next(const std::shared_ptr<GeneratorObject>& from) {
  const Context& c = Context::current();
  if (c.flags & kSavedHooks)
    for (const std::shared_ptr<SavedHook>& hook : c.saved_hooks)
      hook->before_draw(from, from->generator);
  return from->generator.draw();
}

Draw draw_from(lua_State* L, const Interpreter& in, int i) {
  if (const ObjectRef* o = peek_object(L, i, in))
    if (const auto g = std::dynamic_pointer_cast<GeneratorObject>(*o)) return draw_next(g);
  throw type_error("'generator' must be a generator, got {}", describe_value(L, i, in))
      .hint("rille.generator(seed) makes one");
}

}  // namespace rille::lua
