// The random generator as scripts hold it: rille.generator(seed).
#pragma once
#include "interpreter/lua/interpreter.h"
#include "interpreter/lua/value.h"

struct lua_State;

namespace rille::lua {

class GeneratorObject : public Object {
 public:
  explicit GeneratorObject(Generator g) : generator(g) {}
  static constexpr std::string_view kWhat = "a generator";
  std::string_view type() const override { return "rille.Generator"; }
  Generator generator;
};

/// The next numbers of a generator, of which saved-tensor hooks are told.
Draw draw_next(const std::shared_ptr<GeneratorObject>& from);
/// The next numbers of the generator at a stack index. Throws E_TYPE for anything else.
Draw draw_from(lua_State* L, const Interpreter& in, int i);

}  // namespace rille::lua
