#include "interpreter/lua/op_entry.h"

#include "autograd/node.h"
#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"
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

struct Upvalues {
  const OpInfo& op;
  Interpreter& in;
  OpForm form;
};
Upvalues upvalues(lua_State* L) {
  return {*static_cast<const OpInfo*>(lua_touserdata(L, lua_upvalueindex(1))),
          *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(2))),
          static_cast<OpForm>(lua_tointegerx(L, lua_upvalueindex(4), nullptr))};
}

bool truth_of(const Tensor& t) {
  if (t.is_meta()) throw fail(Kind::device, "E_NO_KERNEL", "meta tensors have no values");
  return t.item() != 0;
}

// C++ lives and dies in here. False: an error was prepared.
bool call_guarded(lua_State* L, const Upvalues& up, const Arranged& from, Box* const* boxes,
                  bool& truth) noexcept {
  const Entered entered(up.in, L);
  try {
    Arguments args(up.op);
    read_args(L, up.in, up.op, from, args.get());
    if (up.form == OpForm::in_place) {
      call_in_place(up.op, args.get());
      return true;
    }
    Results results;
    call_erased(up.op, args.get(), results);
    if (from.requires_grad && lua_toboolean(L, from.requires_grad))
      for (const Tensor& t : results) autograd::set_requires_grad(t, true);
    if (up.op.truth) {
      truth = truth_of(results[0]);
    } else if (up.op.results == 0) {
      up.in.tensors.assign(std::make_move_iterator(results.begin()),
                           std::make_move_iterator(results.end()));
    } else {
      for (size_t i = 0; i < results.size(); ++i) fill(boxes[i], results[i]);
    }
    return true;
  } catch (Error& e) {
    if (e.op().empty()) e.op(up.op.name);
    diagnose(L, up.in, std::move(e), &up.op, from.at);
  } catch (const std::bad_alloc&) {
    diagnose(L, up.in, Error(Kind::memory, "E_OOM", "out of memory").op(up.op.name), &up.op,
             from.at);
  } catch (const std::exception& e) {
    diagnose(L, up.in, internal_error("{}", e.what()).op(up.op.name), &up.op, from.at);
  }
  return false;
}

Box* push_box_here(lua_State* L) {
  Box* b = static_cast<Box*>(lua_newuserdatauv(L, sizeof(Box), 0));
  b->magic = Box::kMagic;
  b->kind = BoxKind::tensor;
  b->unused = 0;
  b->impl = nullptr;
  lua_pushvalue(L, lua_upvalueindex(3));
  lua_setmetatable(L, -2);
  return b;
}

// Lists become several results, as many as there are.
int push_list(lua_State* L, Interpreter& in) {
  const int n = static_cast<int>(in.tensors.size());
  luaL_checkstack(L, n + 4, "too many results");
  for (int i = 0; i < n; ++i) fill(push_box_here(L), in.tensors[static_cast<size_t>(i)]);
  in.tensors.clear();
  return n;
}

int entry(lua_State* L) {
  const Upvalues up = upvalues(L);
  if (up.form == OpForm::unary_operator) lua_settop(L, 1);  // Lua passes the operand twice
  luaL_checkstack(L, kSlots, "rille");
  follow_coroutine(L, up.in);
  Arranged from;
  arrange(L, up.op, lua_gettop(L), from);
  Box* boxes[4] = {};
  const bool in_place = up.form == OpForm::in_place;
  bool truth = false;
  const int boxed = in_place || up.op.truth ? 0 : up.op.results;
  for (int i = 0; i < boxed; ++i) boxes[i] = push_box_here(L);
  if (!call_guarded(L, up, from, boxes, truth)) return raise_prepared(L, up.in);
  pace_collector(L, up.in);
  if (in_place) {
    lua_pushvalue(L, 1);
    return 1;
  }
  if (up.op.truth) {
    lua_pushboolean(L, truth);
    return 1;
  }
  return up.op.results == 0 ? push_list(L, up.in) : up.op.results;
}

}  // namespace

void push_op(lua_State* L, Interpreter& in, const OpInfo& op, OpForm form) {
  lua_pushlightuserdata(L, const_cast<OpInfo*>(&op));
  lua_pushlightuserdata(L, &in);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &in.tensor_metatable);
  lua_pushinteger(L, static_cast<lua_Integer>(form));
  lua_pushcclosure(L, entry, 4);
}

}  // namespace rille::lua
