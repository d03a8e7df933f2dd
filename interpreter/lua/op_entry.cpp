#include "interpreter/lua/op_entry.h"

#include "autograd/node.h"
#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/call.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/read_args.h"
#include "ops/op.h"

namespace rille::lua {
namespace {

constexpr int kSlots = 2 * kMaxFields + 16;
constexpr size_t kArgsRoom = 1536;

// The arguments of one call, in place.
class Arguments {
 public:
  explicit Arguments(const OpInfo& op) : op_(op) { op.construct(room_); }
  ~Arguments() { op_.destroy(room_); }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  void* get() { return room_; }

 private:
  const OpInfo& op_;
  alignas(16) std::byte room_[kArgsRoom];
};

// The closure's first upvalue, a block of Lua's; the second is the metatable of tensors.
struct Callee {
  const OpInfo& op;
  Interpreter& in;
  OpForm form;
};

void run(lua_State* L, const Callee& up, const Arranged& from, Box* const* boxes, bool& truth) {
  Arguments args(up.op);
  read_args(L, up.in, up.op, from, args.get());
  if (up.form == OpForm::in_place) {
    call_in_place(up.op, args.get());
    return;
  }
  Results results;
  call_erased(up.op, args.get(), results);
  if (from.requires_grad && lua_type(L, from.requires_grad) != LUA_TBOOLEAN)
    throw type_error("'requires_grad' must be true or false, got {}",
                     describe_value(L, from.requires_grad, up.in));
  if (from.requires_grad && lua_toboolean(L, from.requires_grad))
    for (const Tensor& t : results) autograd::set_requires_grad(t, true);
  if (up.op.truth) {
    truth = results[0].item() != 0;
  } else if (up.op.results == 0) {
    for (Tensor& t : results) up.in.results.push_back(std::move(t));
  } else {
    for (size_t i = 0; i < results.size(); ++i) fill(up.in, boxes[i], std::move(results[i]));
  }
}

int entry(lua_State* L) {
  const Callee& up = *static_cast<const Callee*>(lua_touserdata(L, lua_upvalueindex(1)));
  if (up.form == OpForm::unary_operator) lua_settop(L, 1);  // Lua passes the operand twice
  luaL_checkstack(L, kSlots, "rille");
  follow_coroutine(L, up.in);
  pace_collector(L, up.in);
  const size_t first = up.in.results.size();
  Arranged from;
  arrange(L, up.op, lua_gettop(L), from);
  Box* boxes[4] = {};
  const bool in_place = up.form == OpForm::in_place;
  bool truth = false;
  const int boxed = in_place || up.op.truth ? 0 : up.op.results;
  for (int i = 0; i < boxed; ++i) boxes[i] = push_tensor_box(L, up.in, lua_upvalueindex(2));
  const Blame blame{up.op.name, &up.op, from.at};
  if (!guarded(L, up.in, blame, [&] { run(L, up, from, boxes, truth); }))
    return raise_prepared(L, up.in, first);
  if (up.op.results == 0 && !in_place) return push_results(L, up.in, first);
  if (in_place) {
    lua_pushvalue(L, 1);
    return 1;
  }
  if (!up.op.truth) return up.op.results;
  lua_pushboolean(L, truth);
  return 1;
}

// Whether the only argument, a table, is of named values, other than of the op's own first
// argument.
bool only_names(lua_State* L) {
  if (lua_gettop(L) != 1) return false;
  const OpInfo& op = static_cast<const Callee*>(lua_touserdata(L, lua_upvalueindex(1)))->op;
  luaL_checkstack(L, 4, "rille");
  int names = 0;
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    const bool own = lua_type(L, 3) == LUA_TUSERDATA && lua_type(L, 2) == LUA_TSTRING &&
                     lua_tostring(L, 2) == op.fields[0].name;
    if (own || lua_type(L, 2) != LUA_TSTRING) {
      lua_settop(L, 1);
      return false;
    }
    ++names;
    lua_pop(L, 1);
  }
  return names > 0;
}

// Upvalues: those of `entry`, and the function that shares its name.
int shared_entry(lua_State* L) {
  if (lua_type(L, 1) != LUA_TTABLE || !only_names(L)) return entry(L);
  lua_pushvalue(L, lua_upvalueindex(3));
  lua_insert(L, 1);
  lua_call(L, 1, LUA_MULTRET);
  return lua_gettop(L);
}

// native.share_op(name, f)
int share_op(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(1)));
  const OpInfo* op = find_public_op(luaL_checkstring(L, 1));
  if (!op) return luaL_argerror(L, 1, "not an op");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  push_op(L, in, *op, OpForm::plain);
  lua_getupvalue(L, 3, 1);
  lua_getupvalue(L, 3, 2);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, shared_entry, 3);
  return 1;
}

}  // namespace

void push_op(lua_State* L, Interpreter& in, const OpInfo& op, OpForm form) {
  new (lua_newuserdatauv(L, sizeof(Callee), 0)) Callee{op, in, form};
  lua_rawgetp(L, LUA_REGISTRYINDEX, &in.tensor_metatable);
  lua_pushcclosure(L, entry, 2);
}

void push_share_op(lua_State* L, Interpreter& in) {
  lua_pushlightuserdata(L, &in);
  lua_pushcclosure(L, share_op, 1);
}

}  // namespace rille::lua
