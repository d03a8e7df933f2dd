#include "interpreter/lua/read_args.h"

#include <cmath>
#include <cstring>

#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/generator.h"

namespace rille::lua {
namespace {

bool takes_list(ArgKind k) {
  return k == ArgKind::tensors || k == ArgKind::numbers || k == ArgKind::axes ||
         k == ArgKind::sizes || k == ArgKind::maybe_sizes || k == ArgKind::per_dim ||
         k == ArgKind::padding || k == ArgKind::counts;
}
// Several numbers or tensors for one field, unless the next field needs the second of them: the Lua
// type of which any number may follow, LUA_TNONE if the field takes one argument.
int spreads(const OpInfo& op, size_t f) {
  if (f + 1 < op.fields.size() && op.fields[f + 1].required) return LUA_TNONE;
  switch (op.fields[f].kind) {
    case ArgKind::sizes:
    case ArgKind::maybe_sizes:
    case ArgKind::axes: return LUA_TNUMBER;
    case ArgKind::tensors: return LUA_TUSERDATA;
    default: return LUA_TNONE;
  }
}

// A table whose keys are all strings is options; anything else a list. {} is whichever may stand
// there.
bool is_options(lua_State* L, int i, bool list_may_stand) {
  if (lua_type(L, i) != LUA_TTABLE) return false;
  if (lua_rawlen(L, i) > 0) return false;
  bool any = false;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    any = true;
    if (lua_type(L, -2) == LUA_TSTRING) continue;
    lua_pop(L, 2);
    return false;
  }
  return any || !list_may_stand;
}

int field_named(const OpInfo& op, const char* key) {
  for (size_t f = 0; f < op.fields.size(); ++f)
    if (op.fields[f].kind != ArgKind::draw && op.fields[f].name == key) return static_cast<int>(f);
  return -1;
}

// Ops that make a leaf: no tensor goes in, or only its shape does. What computes nothing is no op
// but the options of a layer.
bool makes_leaf(const OpInfo& op) {
  if (!op.infer && !op.compose) return false;
  if (op.name.ends_with("_like")) return true;
  for (const FieldInfo& f : op.fields)
    if (f.kind == ArgKind::tensor || f.kind == ArgKind::tensors || f.kind == ArgKind::maybe_tensor)
      return false;
  return true;
}

// The field that positional argument `n` (from 1) would reach, disregarding spreading.
int nth_visible(const OpInfo& op, int n) {
  for (size_t f = 0; f < op.fields.size(); ++f)
    if (op.fields[f].kind != ArgKind::draw && --n == 0) return static_cast<int>(f);
  return -1;
}

void take_options(lua_State* L, const OpInfo& op, int table, Arranged& out) {
  for (lua_pushnil(L); lua_next(L, table);) {
    // key, value: the value stays where it is, a copy of the key goes on for lua_next
    const char* key = lua_tostring(L, -2);
    const int f = field_named(op, key);
    const int value = lua_gettop(L);
    if (f >= 0 && out.at[f] == 0) {
      out.at[f] = value;
    } else if (f < 0 && op.draws && std::strcmp(key, "generator") == 0) {
      out.generator = value;
    } else if (f < 0 && std::strcmp(key, "requires_grad") == 0 && makes_leaf(op)) {
      out.requires_grad = value;
    } else {
      out.unknown_option = value - 1;
      out.twice = f >= 0;
      return;
    }
    lua_pushvalue(L, -2);
  }
}

// Tensors for the first fields and nothing else, the commonest call.
bool are_leading_tensors(lua_State* L, const OpInfo& op, int top) {
  if (top > op.leading_tensors) return false;
  while (top > 0 && lua_type(L, top) == LUA_TUSERDATA) --top;
  return top == 0;
}

}  // namespace

void arrange(lua_State* L, const OpInfo& op, int top, Arranged& out) {
  if (are_leading_tensors(L, op, top)) {
    for (int i = 0; i < top; ++i) out.at[i] = i + 1;
    out.given = top;
    return;
  }
  out.nil_size = top > 0 && !op.fields.empty() && op.fields[0].kind == ArgKind::sizes &&
                 lua_type(L, 1) == LUA_TNIL;
  while (top > 0 && lua_type(L, top) == LUA_TNIL) --top;  // a nil at the end is not there
  int last = top;
  int options = 0;
  if (top > 0 && lua_type(L, top) == LUA_TTABLE) {
    const int f = nth_visible(op, top);
    if (is_options(L, top, f >= 0 && takes_list(op.fields[static_cast<size_t>(f)].kind))) {
      options = top;
      --last;
    }
  }
  int arg = 1;
  for (size_t f = 0; f < op.fields.size() && arg <= last; ++f) {
    const FieldInfo& field = op.fields[f];
    if (field.kind == ArgKind::draw) continue;
    out.at[f] = lua_type(L, arg) == LUA_TNIL ? 0 : arg;
    ++arg;
    const int type = spreads(op, f);
    if (type == LUA_TNONE || lua_type(L, arg - 1) != type) continue;
    out.spread_field = static_cast<int>(f);
    for (; arg <= last && lua_type(L, arg) == type; ++arg) ++out.spread_count;
  }
  out.given = last;
  out.too_many = arg <= last;
  if (!options) return;
  luaL_checkstack(L, kMaxFields + 4, "rille");
  take_options(L, op, options, out);
}

void arrange_options(lua_State* L, const OpInfo& op, int table, Arranged& out) {
  take_options(L, op, table, out);
}

int64_t read_integer(lua_State* L, const Interpreter& in, int i, std::string_view what) {
  int good = 0;
  if (lua_type(L, i) == LUA_TNUMBER) {
    const lua_Integer n = lua_tointegerx(L, i, &good);
    if (good) return n;
  }
  throw type_error("'{}' must be an integer, got {}", what, describe_value(L, i, in));
}

namespace {

class Reader {
 public:
  Reader(lua_State* L, Interpreter& in, const Arranged& from, char* args)
      : L_(L), in_(in), from_(from), args_(args) {}

  void read(const FieldInfo& field, int i, int spread) {
    if (i && field.kind == ArgKind::tensor) [[likely]] {
      at<Tensor>(field) = tensor(field, i);
    } else if (i) {
      take(field, i, spread);
    } else if (field.kind == ArgKind::draw) {
      if (from_.generator) at<Draw>(field) = draw_from(L_, in_, from_.generator);
    } else if (field.required) {
      throw type_error("missing argument '{}' ({})", field.name, expected_text(field));
    }
  }

 private:
  template <class T>
  T& at(const FieldInfo& f) {
    return *reinterpret_cast<T*>(args_ + f.offset);
  }

  [[noreturn]] void wrong(const FieldInfo& f, int i) {
    if (is_closed_box(L_, i, in_))
      throw type_error("'{}' {}", f.name, describe_closing(L_, i, in_)).of(f.name);
    throw type_error("'{}' must be {}, got {}", f.name, expected_text(f),
                     describe_value(L_, i, in_))
        .of(f.name);
  }

  Tensor tensor(const FieldInfo& f, int i) {
    if (TensorImpl* p = peek_tensor(L_, i, in_)) [[likely]]
      return tensor_of(p);
    if (f.number_ok && lua_type(L_, i) == LUA_TNUMBER) {
      return lua_isinteger(L_, i) ? Tensor::number(int64_t{lua_tointegerx(L_, i, nullptr)})
                                  : Tensor::number(lua_tonumberx(L_, i, nullptr));
    }
    if (f.number_ok && lua_type(L_, i) == LUA_TBOOLEAN) return full_bool(lua_toboolean(L_, i));
    wrong(f, i);
  }
  static Tensor full_bool(bool b) {
    Tensor t = Tensor::empty(Shape{}, DType::boolean);
    *t.data_as<uint8_t>() = b;
    t.impl()->number = true;
    return t;
  }

  double number(const FieldInfo& f, int i) {
    if (lua_type(L_, i) != LUA_TNUMBER) wrong(f, i);
    return lua_tonumberx(L_, i, nullptr);
  }
  int64_t integer(const FieldInfo& f, int i) {
    int good = 0;
    if (lua_type(L_, i) != LUA_TNUMBER) wrong(f, i);
    const lua_Integer n = lua_tointegerx(L_, i, &good);
    if (!good) wrong(f, i);
    return n;
  }
  // From the script's 1-based count to ours; negative stays.
  int64_t position(const FieldInfo& f, int i, std::string_view what) {
    const int64_t n = integer(f, i);
    if (n == 0)
      throw index_error("'{}' is 0, but {}s count from 1 (or -1 from the end)", f.name, what);
    return n > 0 ? n - 1 : n;
  }
  std::string_view text(const FieldInfo& f, int i) {
    if (lua_type(L_, i) != LUA_TSTRING) wrong(f, i);
    size_t n = 0;
    const char* s = lua_tolstring(L_, i, &n);
    return {s, n};
  }

  // Visits the integers of a list argument: several on the stack, one, or a table of them.
  template <class F>
  void each_integer(const FieldInfo& f, int i, int spread, F&& take_one) {
    if (lua_type(L_, i) == LUA_TNUMBER) {
      for (int k = 0; k < std::max(spread, 1); ++k) take_one(i + k);
      return;
    }
    if (lua_type(L_, i) != LUA_TTABLE) wrong(f, i);
    const lua_Unsigned n = lua_rawlen(L_, i);
    need_room(static_cast<int64_t>(2 * n * sizeof(int64_t)));  // lists copy as they grow
    for (lua_Unsigned k = 1; k <= n; ++k) {
      lua_rawgeti(L_, i, static_cast<lua_Integer>(k));
      take_one(lua_gettop(L_));
      lua_settop(L_, -2);
    }
  }
  Dims integers(const FieldInfo& f, int i, int spread) {
    Dims d;
    each_integer(f, i, spread, [&](int k) { d.push_back(integer(f, k)); });
    return d;
  }
  Dims dims(const FieldInfo& f, int i, int spread) {
    Dims d;
    each_integer(f, i, spread, [&](int k) { d.push_back(position(f, k, "dim")); });
    return d;
  }

  void take_counts(const FieldInfo& f, int i) {
    auto& list = at<Counts>(f).list;
    list.clear();
    each_integer(f, i, 1, [&](int k) { list.push_back(integer(f, k)); });
  }

  void take_tensors(const FieldInfo& f, int i, int spread) {
    auto& list = at<std::vector<Tensor>>(f);
    if (lua_type(L_, i) == LUA_TUSERDATA) {
      for (int k = i; k < i + std::max(spread, 1); ++k) list.push_back(tensor(f, k));
      return;
    }
    if (lua_type(L_, i) != LUA_TTABLE) wrong(f, i);
    const lua_Unsigned n = lua_rawlen(L_, i);
    need_room(static_cast<int64_t>(2 * n * sizeof(int64_t)));  // lists copy as they grow
    for (lua_Unsigned k = 1; k <= n; ++k) {
      lua_rawgeti(L_, i, static_cast<lua_Integer>(k));
      TensorImpl* p = peek_tensor(L_, -1, in_);
      if (!p)
        throw type_error("'{}' must be {}, got {} at position {}", f.name, expected_text(f),
                         describe_value(L_, lua_gettop(L_), in_), k);
      list.push_back(tensor_of(p));
      lua_settop(L_, -2);
    }
  }

  void take_numbers(const FieldInfo& f, int i) {
    auto& list = at<std::vector<double>>(f);
    list.clear();
    if (lua_type(L_, i) == LUA_TNUMBER) {
      list.push_back(number(f, i));
      return;
    }
    if (lua_type(L_, i) != LUA_TTABLE) wrong(f, i);
    const lua_Unsigned n = lua_rawlen(L_, i);
    need_room(static_cast<int64_t>(2 * n * sizeof(int64_t)));  // lists copy as they grow
    for (lua_Unsigned k = 1; k <= n; ++k) {
      lua_rawgeti(L_, i, static_cast<lua_Integer>(k));
      list.push_back(number(f, lua_gettop(L_)));
      lua_settop(L_, -2);
    }
  }

  DType dtype(const FieldInfo& f, int i) {
    if (const auto d = parse_dtype(text(f, i))) return *d;
    throw fail(Kind::dtype, "E_DTYPE", "'{}' is no dtype", text(f, i))
        .hint("dtypes: " + dtype_names());
  }

  Device device(const FieldInfo& f, int i) {
    return granted_device(interpreter_of(L_).policy, text(f, i));
  }

  void choice(const FieldInfo& f, int i) {
    // A number is as good as its name: ord = 2, or math.huge for "inf".
    const std::string from_number =
        lua_type(L_, i) == LUA_TNUMBER ? fmt::format("{:g}", number(f, i)) : "";
    const std::string_view s = from_number.empty() ? text(f, i) : std::string_view(from_number);
    for (size_t k = 0; k < f.choices.size(); ++k)
      if (f.choices[k] == s) {
        at<int>(f) = static_cast<int>(k);
        return;
      }
    wrong(f, i);
  }

  void take_padding(const FieldInfo& f, int i) {
    if (lua_type(L_, i) != LUA_TSTRING) {
      at<Padding>(f) = Padding(integers(f, i, 1));
      return;
    }
    const std::string_view word = text(f, i);
    if (word != "same" && word != "valid") wrong(f, i);
    at<Padding>(f) = Padding(word == "same" ? Padding::Word::same : Padding::Word::valid);
  }

  void take(const FieldInfo& f, int i, int spread) {
    switch (f.kind) {
      case ArgKind::tensor: at<Tensor>(f) = tensor(f, i); break;
      case ArgKind::maybe_tensor: at<std::optional<Tensor>>(f) = tensor(f, i); break;
      case ArgKind::tensors: take_tensors(f, i, spread); break;
      case ArgKind::number: at<double>(f) = number(f, i); break;
      case ArgKind::maybe_number: at<std::optional<double>>(f) = number(f, i); break;
      case ArgKind::numbers: take_numbers(f, i); break;
      case ArgKind::integer: at<int64_t>(f) = integer(f, i); break;
      case ArgKind::maybe_integer: at<std::optional<int64_t>>(f) = integer(f, i); break;
      case ArgKind::boolean:
        if (lua_type(L_, i) != LUA_TBOOLEAN) wrong(f, i);
        at<bool>(f) = lua_toboolean(L_, i);
        break;
      case ArgKind::text: at<std::string>(f) = text(f, i); break;
      case ArgKind::choice: choice(f, i); break;
      case ArgKind::dtype: at<DType>(f) = dtype(f, i); break;
      case ArgKind::maybe_dtype: at<std::optional<DType>>(f) = dtype(f, i); break;
      case ArgKind::maybe_device: at<std::optional<Device>>(f) = device(f, i); break;
      case ArgKind::axis: at<Axis>(f) = {position(f, i, "dim")}; break;
      case ArgKind::maybe_axis: at<std::optional<Axis>>(f) = Axis{position(f, i, "dim")}; break;
      case ArgKind::axes: at<Axes>(f) = Axes(dims(f, i, spread)); break;
      case ArgKind::position: at<Position>(f) = {position(f, i, "position")}; break;
      case ArgKind::maybe_position:
        at<std::optional<Position>>(f) = Position{position(f, i, "position")};
        break;
      case ArgKind::sizes: at<Sizes>(f) = Sizes(integers(f, i, spread)); break;
      case ArgKind::maybe_sizes: at<std::optional<Sizes>>(f) = Sizes(integers(f, i, spread)); break;
      case ArgKind::per_dim: at<PerDim>(f) = PerDim(integers(f, i, 1)); break;
      case ArgKind::padding: take_padding(f, i); break;
      case ArgKind::counts: take_counts(f, i); break;
      case ArgKind::draw: break;
    }
  }

  lua_State* L_;
  Interpreter& in_;
  const Arranged& from_;
  char* args_;
};

// Options that are of the door, not fields of the op.
std::vector<std::string_view> door_options(const OpInfo& op) {
  std::vector<std::string_view> names;
  if (op.draws) names.push_back("generator");
  if (makes_leaf(op)) names.push_back("requires_grad");
  return names;
}

// "takes: zeros({ shape = {}, dtype, device, requires_grad })"
std::string taken(const OpInfo& op) {
  std::string text = "takes: " + signature(op);
  const std::vector<std::string_view> more = door_options(op);
  if (more.empty()) return text;
  constexpr std::string_view kEnd = " })";
  if (text.ends_with(kEnd))
    text.insert(text.size() - kEnd.size(), fmt::format(", {}", fmt::join(more, ", ")));
  else
    text.insert(text.size() - 1, fmt::format(", {{ {} }}", fmt::join(more, ", ")));
  return text;
}

[[noreturn]] void refuse_option(lua_State* L, const OpInfo& op, const Arranged& from) {
  size_t n = 0;
  const char* s = lua_tolstring(L, from.unknown_option, &n);
  const std::string_view key(s, n);
  if (from.twice) throw option_error("'{}' is given twice", key);
  std::vector<std::string_view> names = door_options(op);
  for (const FieldInfo& f : op.fields)
    if (f.kind != ArgKind::draw) names.push_back(f.name);
  const std::string near = nearest(key, names);
  throw option_error("unknown option '{}'{}", key,
                     near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .fact(taken(op))
      .of("");
}

}  // namespace

void read_args(lua_State* L, Interpreter& in, const OpInfo& op, const Arranged& from, void* args) {
  if (from.unknown_option) refuse_option(L, op, from);
  if (from.nil_size)
    throw type_error("'{}' must be {}, got nil", op.fields[0].name, expected_text(op.fields[0]));
  if (from.too_many) {
    int most = 0;
    for (const FieldInfo& f : op.fields) most += f.kind != ArgKind::draw;
    throw type_error("takes at most {} argument{}, got {}", most, most == 1 ? "" : "s", from.given)
        .fact(taken(op));
  }
  Reader reader(L, in, from, static_cast<char*>(args));
  int f = 0;
  for (const FieldInfo& field : op.fields) {
    reader.read(field, from.at[f], f == from.spread_field ? from.spread_count : 0);
    ++f;
  }
}

}  // namespace rille::lua
