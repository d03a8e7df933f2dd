// Methods, fields and metamethods of tensors that are no ops.
#include <algorithm>

#include "autograd/node.h"
#include "core/budget.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/generator.h"
#include "ops/cast.h"
#include "ops/convert.h"
#include "ops/shape.h"

namespace rille::bind {
namespace {

Table list_of(const Dims& d) {
  Table t;
  for (const int64_t n : d) t.list.emplace_back(n);
  return t;
}

// A dim as the script counts it.
int64_t script_dim(Call& c, int i) {
  const int64_t d = c.integer(i, "dim");
  if (d == 0) throw index_error("'dim' is 0, but dims count from 1 (or -1 from the end)");
  return d > 0 ? d - 1 : d;
}

void size(Call& c) {
  const Tensor t = c.tensor(1, "self");
  if (c.has(2)) return c.give(t.size(script_dim(c, 2)));
  for (const int64_t n : t.shape()) c.give(n);
}
void shape(Call& c) { c.give(list_of(c.tensor(1, "self").shape())); }
void stride(Call& c) {
  const Tensor t = c.tensor(1, "self");
  if (c.has(2)) return c.give(t.strides()[axis(script_dim(c, 2), t.rank())]);
  for (const int64_t n : t.strides()) c.give(n);
}
void dim(Call& c) { c.give(c.tensor(1, "self").rank()); }
void numel(Call& c) { c.give(c.tensor(1, "self").numel()); }
void nbytes(Call& c) { c.give(c.tensor(1, "self").nbytes()); }
void is_contiguous(Call& c) { c.give(c.tensor(1, "self").is_contiguous()); }

void refuse_meta(const Tensor& t) {
  if (t.is_meta()) throw fail(Kind::device, "E_NO_KERNEL", "a meta tensor has no values");
}

Value element(const Tensor& t, int64_t at) {
  if (t.dtype() == DType::boolean) return t.at(at) != 0;
  if (category(t.dtype()) == Category::floating) return t.at(at);
  return t.is_contiguous() ? t.load_int(at) : static_cast<int64_t>(t.at(at));
}

void item(Call& c) {
  const Tensor t = c.tensor(1, "self");
  refuse_meta(t);
  if (t.numel() != 1)
    throw shape_error("needs a tensor of one element, got shape {}", to_string(t.shape()))
        .op("item")
        .hint("t:tolist() gives all of them");
  c.give(element(t, 0));
}

void tolist(Call& c) {
  Tensor t = c.tensor(1, "self");
  refuse_meta(t);
  const NoGrad quiet;
  t = contiguous(t);
  // Lua would refuse the lists, too, but not say for what.
  const int64_t bytes = lua::bytes_of_lists(t.shape());
  if (const Budget* b = Budget::counting(); b && b->refuses(bytes)) b->raise_out_of_memory(bytes);
  c.give(lua::Lists{t});
}

// ---- t:to
// -----------------------------------------------------------------------------------------

struct Target {
  DType dtype;
  Device device;
  bool copy = false, contiguous = false;
  std::optional<bool> saturate;
  NanRule nan = NanRule::propagate;
  bool stochastic = false;
  Draw draw = {};

  /// Told not to saturate where the dtype would.
  bool overflows() const { return saturate == false && is_narrow(dtype); }

  bool is_plain() const { return !saturate && nan == NanRule::propagate && !stochastic; }
};

/// The place of an option's word among those it may be; nothing where it is not given.
std::optional<size_t> word_option(const Call& c, int i, std::string_view key,
                                  std::span<const std::string_view> words) {
  const auto given = c.text_option(i, key);
  if (!given) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *given);
  if (found == words.end())
    throw arg_error("'{}' must be one of '{}', got '{}'", key, fmt::join(words, "', '"), *given);
  return static_cast<size_t>(found - words.begin());
}

Draw draw_option(const Call& c, int i) {
  const Value v = c.option(i, "generator");
  if (v.is_nil()) return {};
  const auto* object = v.get<lua::ObjectRef>();
  const auto source = object ? std::dynamic_pointer_cast<lua::GeneratorObject>(*object) : nullptr;
  if (!source)
    throw type_error("'generator' must be a generator").hint("rille.generator(seed) makes one");
  return lua::draw_next(source);
}

void read_options(const Call& c, int i, Target& to) {
  c.only(i, {"async", "copy", "layout", "saturate", "nan", "rounding", "generator", "dtype",
             "device"});
  to.copy = c.flag_option(i, "copy");
  if (const auto d = c.text_option(i, "dtype")) to.dtype = dtype_of(*d);
  if (const auto d = c.text_option(i, "device")) to.device = device_of(c.interpreter(), *d);
  (void)c.flag_option(i, "async");  // a CPU's copy is done when the call returns
  static constexpr std::string_view layouts[] = {"contiguous"},
                                    roundings[] = {"nearest", "stochastic"};
  to.contiguous = word_option(c, i, "layout", layouts).has_value();
  if (!c.option(i, "saturate").is_nil()) to.saturate = c.flag_option(i, "saturate");
  static constexpr auto rules = names_of(NanRule{});
  to.nan = static_cast<NanRule>(word_option(c, i, "nan", rules).value_or(0));
  to.stochastic = word_option(c, i, "rounding", roundings) == 1u;
  if (!to.stochastic && !c.option(i, "generator").is_nil())
    throw option_error("'generator' goes with rounding = 'stochastic'");
  to.draw = draw_option(c, i);
}

Tensor converted(const Tensor& t, const Target& to) {
  if (to.is_plain()) return cast(t, to.dtype);
  const bool saturate = to.saturate.value_or(false);
  if (to.saturate && !saturate && category(t.dtype()) == Category::floating && is_integer(to.dtype))
    throw option_error("floats always saturate in {}: 'saturate' can't be false", name(to.dtype));
  return to.stochastic
             ? call<ConvertDrawn>({t, to.dtype, saturate, to.nan, to.overflows(), to.draw})
             : call<Convert>({t, to.dtype, saturate, to.nan, to.overflows()});
}

// A word that `to` takes: a dtype or a device.
void read_word(Call& c, const std::string& text, Target& target) {
  if (const auto d = parse_dtype(text)) {
    target.dtype = *d;
    return;
  }
  try {
    target.device = device_of(c.interpreter(), text);
  } catch (const Error& e) {
    if (e.code() != "E_ARG") throw;
    throw arg_error("'{}' is neither a dtype nor a device", text)
        .hint("dtypes: " + dtype_names() + "; devices: cpu, cpu:1, cuda, cuda:1, meta, auto");
  }
}

// t:to(dtype | device | other [, options]), in any order of the first two.
void to(Call& c) {
  const Tensor t = c.tensor(1, "self");
  Target target{t.dtype(), t.device()};
  for (int i = 2; i <= c.count(); ++i) {
    if (!c.has(i)) continue;
    if (c.is_tensor(i)) {
      const Tensor other = c.tensor(i, "other");
      target.dtype = other.dtype();
      target.device = other.device();
    } else if (c.is_string(i)) {
      read_word(c, c.string(i, "target"), target);
    } else {
      read_options(c, i, target);
    }
  }
  Tensor moved = converted(to_device(t, target.device), target);
  if (target.contiguous) moved = contiguous(moved);
  c.give(target.copy && moved.is(t) ? clone(t) : moved);
}

void type_as(Call& c) { c.give(cast(c.tensor(1, "self"), c.tensor(2, "other").dtype())); }
template <DType d>
void cast_to(Call& c) {
  c.give(cast(c.tensor(1, "self"), d));
}
void to_cpu(Call& c) { c.give(to_device(c.tensor(1, "self"), device_of(c.interpreter(), "cpu"))); }

// ---- fields
// --------------------------------------------------------------------------------------

void get_dtype(Call& c) { c.give(name(c.tensor(1, "self").dtype())); }
void get_device(Call& c) { c.give(to_string(c.tensor(1, "self").device())); }
void get_requires_grad(Call& c) { c.give(autograd::requires_grad(c.tensor(1, "self"))); }
void get_is_leaf(Call& c) { c.give(autograd::is_leaf(c.tensor(1, "self"))); }
void get_grad(Call& c) { c.give(autograd::grad_of(c.tensor(1, "self"))); }
void get_layout(Call& c) {
  const Tensor t = c.tensor(1, "self");
  c.give(t.is_contiguous() ? "contiguous" : is_dense(t.shape(), t.strides()) ? "dense" : "strided");
}
void get_version(Call& c) { c.give(static_cast<int64_t>(c.tensor(1, "self").version())); }
void set_grad(Call& c) {
  autograd::set_grad(c.tensor(1, "self"), c.has(2) ? c.tensor(2, "grad") : Tensor());
}
void set_requires_grad(Call& c) {
  autograd::set_requires_grad(c.tensor(1, "self"), c.boolean(2, "requires_grad"));
}

// ---- metamethods
// ---------------------------------------------------------------------------------

void length(Call& c) {
  const Tensor t = c.tensor(1, "self");
  if (t.rank() == 0) throw shape_error("a 0-d tensor has no length").op("#");
  c.give(t.shape()[0]);
}
void text(Call& c) {
  c.give(c.is_closed(1) ? "a closed tensor" : print_tensor(c.tensor(1, "self")));
}
void concat(Call& c) {
  if (!c.is_tensor(1) || !c.is_tensor(2)) throw type_error("'..' joins two tensors").op("cat");
  c.give(rille::cat({c.tensor(1, "a"), c.tensor(2, "b")}));
}
void same(Call& c) {
  c.give(c.is_tensor(1) && c.is_tensor(2) && c.tensor(1, "a").is(c.tensor(2, "b")));
}

}  // namespace

void bind_tensor(Interpreter& in) {
  static constexpr NativeEntry methods[] = {{"size", size},
                                            {"shape", shape},
                                            {"stride", stride},
                                            {"dim", dim},
                                            {"numel", numel},
                                            {"nbytes", nbytes},
                                            {"is_contiguous", is_contiguous},
                                            {"item", item},
                                            {"tolist", tolist},
                                            {"to", to},
                                            {"type_as", type_as},
                                            {"cpu", to_cpu},
                                            {"float", cast_to<DType::f32>},
                                            {"double", cast_to<DType::f64>},
                                            {"half", cast_to<DType::f16>},
                                            {"bfloat16", cast_to<DType::bf16>},
                                            {"long", cast_to<DType::i64>},
                                            {"int", cast_to<DType::i32>},
                                            {"bool", cast_to<DType::boolean>}};
  static constexpr NativeEntry getters[] = {
      {"dtype", get_dtype},    {"device", get_device},   {"requires_grad", get_requires_grad},
      {"grad", get_grad},      {"is_leaf", get_is_leaf}, {"layout", get_layout},
      {"version", get_version}};
  static constexpr NativeEntry setters[] = {{"grad", set_grad},
                                            {"requires_grad", set_requires_grad}};
  static constexpr NativeEntry operators[] = {
      {"__len", length}, {"__tostring", text}, {"__concat", concat}, {"__eq", same}};
  lua::define_tensor(in,
                     {methods, getters, setters, operators, tensor_get_index, tensor_set_index});
}

}  // namespace rille::bind
