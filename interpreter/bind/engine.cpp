// The engine's own settings and figures: seeds, defaults, threads, memory, clock, the list of ops.
#include <chrono>

#include "core/allocator.h"
#include "core/fail.h"
#include "core/threads.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/generator.h"
#include "interpreter/lua/random_state.h"
#include "ops/op_info.h"

namespace rille::bind {
namespace {

// ---- random numbers
// --------------------------------------------------------------------------------

void seed(Call& c) {
  const auto s = static_cast<uint64_t>(c.integer(1, "seed"));
  c.context().generator = {s, 0};
}
void initial_seed(Call& c) { c.give(static_cast<int64_t>(c.context().generator.seed)); }
Table state_of(const Generator& g) {
  Table t;
  t.named.emplace("seed", static_cast<int64_t>(g.seed));
  t.named.emplace("next", static_cast<int64_t>(g.next));
  return t;
}
Generator generator_from(Call& c, int i) {
  if (!c.is_table(i)) c.wrong(i, "state", "a table from get_rng_state");
  const Value s = c.option(i, "seed"), n = c.option(i, "next");
  if (!s.get<int64_t>() || !n.get<int64_t>()) c.wrong(i, "state", "a table from get_rng_state");
  return {static_cast<uint64_t>(*s.get<int64_t>()), static_cast<uint64_t>(*n.get<int64_t>())};
}
void get_rng_state(Call& c) { c.give(state_of(c.context().generator)); }
void set_rng_state(Call& c) { c.context().generator = generator_from(c, 1); }

void generator(Call& c) {
  const auto s = c.has(1) ? static_cast<uint64_t>(c.integer(1, "seed")) : 0;
  c.give(lua::ObjectRef(std::make_shared<lua::GeneratorObject>(Generator{s, 0})));
}
std::shared_ptr<lua::GeneratorObject> self(Call& c) {
  return c.object<lua::GeneratorObject>(1, "self");
}
void generator_seed(Call& c) {
  self(c)->generator = {static_cast<uint64_t>(c.integer(2, "seed")), 0};
}
void generator_state(Call& c) { c.give(state_of(self(c)->generator)); }
void generator_set_state(Call& c) { self(c)->generator = generator_from(c, 2); }

// native.lua_random_state() -> four integers; native.set_lua_random_state(list)
void lua_random_state(Call& c) {
  Table t;
  for (const int64_t word : lua::random_state(c.interpreter())) t.list.emplace_back(word);
  c.give(t);
}
void set_lua_random_state(Call& c) {
  const Value v = c.value(1);
  lua::RandomState state{};
  if (!v.table() || v.table()->list.size() != state.size()) c.wrong(1, "state", "four integers");
  for (size_t i = 0; i < state.size(); ++i) {
    const int64_t* word = v.table()->list[i].get<int64_t>();
    if (!word) c.wrong(1, "state", "four integers");
    state[i] = *word;
  }
  lua::set_random_state(c.interpreter(), state);
}

// ---- defaults
// --------------------------------------------------------------------------------------

void default_dtype(Call& c) {
  if (c.has(1)) {
    const DType d = dtype_of(c.string(1, "dtype"));
    if (!is_float(d))
      throw dtype_error("the default dtype must be f64, f32, f16 or bf16, got {}", name(d))
          .op("default_dtype");
    c.context().default_dtype = d;
  }
  c.give(name(c.context().default_dtype));
}
void default_device(Call& c) {
  if (c.has(1)) c.context().default_device = device_of(c.interpreter(), c.string(1, "device"));
  c.give(to_string(c.context().default_device));
}
void threads(Call& c) {
  if (c.has(1)) {
    const int64_t n = c.integer(1, "n");
    if (n < 1 || n > 1024) throw arg_error("'n' must be from 1 to 1024, got {}", n).op("threads");
    set_threads(static_cast<int>(n));
  }
  c.give(rille::threads());
}
void promote_dtypes(Call& c) {
  c.give(name(promote(dtype_of(c.string(1, "a")), dtype_of(c.string(2, "b")))));
}

// What matrix units make of f32: ten bits of its mantissa. No tensor has it.
constexpr FloatInfo kTf32{32,
                          8,
                          10,
                          127,
                          3.4011621342146535e38,
                          9.765625e-4,
                          1.1754943508222875e-38,
                          1.1479437019748901e-41,
                          1e-3};

void finfo(Call& c) {
  const std::string text = c.string(1, "dtype");
  const bool tf32 = text == "tf32";
  const DType d = tf32 ? DType::f32 : dtype_of(text);
  if (category(d) != Category::floating)
    throw dtype_error("finfo is for floats, got {}", name(d)).hint("rille.iinfo for integers");
  const FloatInfo& f = tf32 ? kTf32 : float_info(d);
  Table t;
  auto& n = t.named;
  n["dtype"] = tf32 ? text : std::string(name(d));
  n["bits"] = f.bits;
  n["max"] = f.max;
  n["min"] = f.min();
  n["eps"] = f.eps;
  n["tiny"] = f.smallest_normal;
  n["smallest_normal"] = f.smallest_normal;
  if (f.smallest_subnormal > 0) n["smallest_subnormal"] = f.smallest_subnormal;
  n["resolution"] = f.resolution;
  n["exp_bits"] = f.exp_bits;
  n["mant_bits"] = f.mant_bits;
  n["bias"] = f.bias;
  n["has_inf"] = f.has_inf;
  n["has_nan"] = f.has_nan;
  n["has_zero"] = f.has_zero;
  n["signed"] = f.is_signed;
  c.give(t);
}
void iinfo(Call& c) {
  const DType d = dtype_of(c.string(1, "dtype"));
  if (category(d) == Category::floating)
    throw dtype_error("iinfo is for integers, got {}", name(d)).hint("rille.finfo for floats");
  const IntInfo i = int_info(d);
  Table t;
  t.named["dtype"] = name(d);
  t.named["bits"] = i.bits;
  t.named["min"] = i.min;
  t.named["max"] = i.max;
  c.give(t);
}

// ---- memory
// ----------------------------------------------------------------------------------------

void allocated(Call& c) { c.give(memory::stats().allocated); }
void peak(Call& c) { c.give(memory::stats().peak); }
void reserved(Call& c) { c.give(memory::stats().reserved); }
void reset_peak(Call&) { memory::reset_peak(); }
void empty_cache(Call&) { memory::empty_cache(); }
void stats(Call& c) {
  const MemoryStats s = memory::stats();
  Table t;
  t.named["allocated"] = s.allocated;
  t.named["peak"] = s.peak;
  t.named["reserved"] = s.reserved;
  t.named["allocations"] = s.allocations;
  c.give(t);
}

void live_boxes(Call& c) { c.give(c.interpreter().owned.live()); }
void fail_after(Call& c) { memory::fail_after(c.integer(1, "n")); }

// memory.limit([bytes or "4GiB"]) -> bytes, or nil where there is none
void limit(Call& c) {
  if (c.is_number(1)) {
    const int64_t bytes = c.integer(1, "bytes");
    if (bytes < 0)
      throw arg_error("'bytes' must be 0 (no limit) or more, got {}", bytes).op("memory.limit");
    memory::set_limit(bytes);
  } else if (c.has(1)) {
    const std::string text = c.string(1, "bytes");
    char* end = nullptr;
    double n = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    if (unit == "KiB")
      n *= 0x1p10;
    else if (unit == "MiB")
      n *= 0x1p20;
    else if (unit == "GiB")
      n *= 0x1p30;
    else if (!unit.empty() || end == text.c_str())
      throw arg_error("'{}' is no size such as '4GiB'", text).op("memory.limit");
    memory::set_limit(static_cast<int64_t>(n));
  }
  if (memory::limit() > 0) c.give(memory::limit());
}

// ---- the rest
// --------------------------------------------------------------------------------------

void clock(Call& c) {
  c.give(
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

Table op_entry(const OpInfo& op) {
  Table t;
  t.named["name"] = op.name;
  t.named["family"] = op.family;
  t.named["doc"] = op.doc;
  t.named["signature"] = signature(op);
  t.named["autocast"] = name(op.autocast);
  t.named["in_place"] = op.in_place;
  t.named["method"] = op.method;
  t.named["example"] = op.example;
  Table fields;
  for (const FieldInfo& f : op.fields) {
    if (f.kind == ArgKind::draw) continue;
    Table one;
    one.named["name"] = f.name;
    one.named["doc"] = f.doc;
    one.named["takes"] = expected_text(f);
    one.named["required"] = f.required;
    if (!f.required) one.named["default"] = default_text(op, f);
    fields.list.emplace_back(one);
  }
  t.named["fields"] = fields;
  return t;
}
// rille.ops() -> list of { name, family, doc, signature, fields, ... }
void ops(Call& c) {
  Table t;
  for (const OpInfo* op : public_ops()) t.list.emplace_back(op_entry(*op));
  c.give(t);
}

}  // namespace

void bind_engine(Interpreter& in) {
  static constexpr NativeEntry functions[] = {{"seed", seed},
                                              {"get_rng_state", get_rng_state},
                                              {"set_rng_state", set_rng_state},
                                              {"generator", generator},
                                              {"default_dtype", default_dtype},
                                              {"set_default_dtype", default_dtype},
                                              {"default_device", default_device},
                                              {"promote", promote_dtypes},
                                              {"finfo", finfo},
                                              {"iinfo", iinfo},
                                              {"memory.allocated", allocated},
                                              {"memory.peak", peak},
                                              {"memory.reserved", reserved},
                                              {"memory.stats", stats},
                                              {"clock", clock},
                                              {"ops", ops}};
  lua::define_functions(in, "rille", functions);
  static constexpr NativeEntry of_process[] = {{"threads", threads},
                                               {"memory.empty_cache", empty_cache},
                                               {"memory.reset_peak", reset_peak},
                                               {"memory.limit", limit}};
  lua::define_outside(in, "rille", of_process);
  static constexpr NativeEntry natives[] = {{"initial_seed", initial_seed},
                                            {"lua_random_state", lua_random_state},
                                            {"set_lua_random_state", set_lua_random_state},
                                            {"clock", clock},
                                            {"live_boxes", live_boxes}};
  lua::define_functions(in, "rille.native", natives);
  static constexpr NativeEntry of_tests[] = {{"fail_allocation", fail_after}};
  lua::define_outside(in, "rille.native", of_tests);
  static constexpr NativeEntry methods[] = {
      {"seed", generator_seed}, {"state", generator_state}, {"set_state", generator_set_state}};
  lua::define_class(in, "rille.Generator", methods);
  lua::define_value(in, "rille", "version", std::string_view(RILLE_VERSION));
}

}  // namespace rille::bind
