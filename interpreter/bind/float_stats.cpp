// The numbers behind t:fpstats() (cpu/float_stats.h); stdlib's rille.amp.float_stats says what they
// mean.
#include "cpu/float_stats.h"

#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "ops/cast.h"

namespace rille::bind {
namespace {

Table losses_of(const cpu::FloatStats& s) {
  Table formats;
  for (size_t i = 0; i < s.losses.size(); ++i) {
    Table lost;
    lost.named = {{"name", cpu::kFormatLimits[i].name},
                  {"flush", s.losses[i].flush},
                  {"underflow", s.losses[i].underflow},
                  {"overflow", s.losses[i].overflow}};
    formats.list.emplace_back(std::move(lost));
  }
  return formats;
}

// The exponents that occur, as pairs { exponent, count }.
Table exponents_of(const cpu::FloatStats& s) {
  Table list;
  for (size_t i = 0; i < s.exponents.size(); ++i) {
    if (s.exponents[i] == 0) continue;
    Table pair;
    pair.list = {static_cast<int64_t>(i) + cpu::FloatStats::kLowest, s.exponents[i]};
    list.list.emplace_back(std::move(pair));
  }
  return list;
}

// native.float_stats(t) -> table of counts
void float_stats(Call& c) {
  Tensor t = c.tensor(1, "self");
  const DType own = t.dtype();
  if (category(own) != Category::floating)
    throw dtype_error("needs a float tensor, got {}", name(own)).op("fpstats");
  if (t.is_meta())
    throw fail(Kind::device, "E_NO_KERNEL", "a meta tensor has no values").op("fpstats");
  const NoGrad quiet;
  t = contiguous(is_narrow(own) ? cast(t, DType::f32) : t);
  const cpu::FloatStats s = cpu::float_stats(t.dtype(), t.data(), t.numel(), own);
  Table out;
  out.named = {{"numel", s.numel},
               {"zeros", s.zeros},
               {"subnormals", s.subnormals},
               {"inf", s.infinities},
               {"nan", s.nans},
               {"losses", losses_of(s)},
               {"exponents", exponents_of(s)}};
  if (s.largest != 0) {
    out.named.emplace("min", s.smallest);
    out.named.emplace("max", s.largest);
  }
  c.give(std::move(out));
}

}  // namespace

void bind_float_stats(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"float_stats", float_stats}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
