#include "fuzz/misuse_arguments.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "autograd/node.h"
#include "core/error.h"
#include "ops/cast.h"
#include "ops/op.h"

namespace rille::misuse {
namespace {

constexpr char kWallByte = 0x5a;
constexpr int64_t kMostElements = 20000;

double any_number(Dice& dice) {
  using Limit = std::numeric_limits<double>;
  return dice.any_of({0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 3.0, 1e-3, 1e300, -1e300, 5e-324, 1e-40, 1e19,
                      9.3e18, Limit::quiet_NaN(), Limit::infinity(), -Limit::infinity()});
}

int64_t small_size(Dice& dice) { return dice.any_of<int64_t>({0, 1, 1, 2, 2, 3, 4, 5, 8, 17, 33}); }

Dims any_dims(Dice& dice, int64_t most, bool tame) {
  Dims out;
  for (int64_t n = dice.between(0, most); n > 0; --n)
    out.push_back(tame ? small_size(dice) : any_integer(dice));
  return out;
}

DType any_dtype(Dice& dice) {
  if (dice.one_in(2)) return DType::f32;
  if (dice.one_in(3)) return DType::i64;
  return static_cast<DType>(dice.between(0, kDTypes - 1));
}

Shape any_shape(Dice& dice) {
  Shape shape;
  int64_t n = 1;
  for (int64_t rank = dice.any_of<int64_t>({0, 1, 1, 2, 2, 3, 3, 4, 5}); rank > 0; --rank) {
    int64_t size = small_size(dice);
    if (n * size > kMostElements) size = 1;
    n *= size;
    shape.push_back(size);
  }
  return shape;
}

// Values that a dtype's kernels may find: small ones, ids that are none, nan and infinity.
void scribble(const Tensor& t, Dice& dice) {
  if (t.is_meta()) return;
  const bool wild = dice.one_in(4);
  const int64_t span = dice.any_of<int64_t>({1, 2, 3, 8, 40});
  const bool whole = category(t.dtype()) != Category::floating;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const bool strange = wild && dice.one_in(4);
    if (whole) {
      const int64_t v = strange ? any_integer(dice) : dice.between(0, span) - (dice.one_in(50));
      t.store_int(i, t.dtype() == DType::boolean ? v & 1 : v);
    } else {
      const double v = static_cast<double>(dice.between(-1000, 1000)) / 250;
      const double odd = strange ? any_number(dice) : v;
      t.store(i, std::isnan(odd) && !float_info(t.dtype()).has_nan ? v : odd);
    }
  }
}

// Another look at the same elements or at some of them.
Tensor relaid(const Tensor& t, Dice& dice) {
  if (t.rank() == 0 || t.is_packed() || t.is_number()) return t;
  Shape shape = t.shape();
  Strides strides = t.strides();
  const int d = static_cast<int>(dice.between(0, t.rank() - 1));
  const int e = static_cast<int>(dice.between(0, t.rank() - 1));
  int64_t offset = t.offset();
  switch (dice.between(0, 4)) {
    case 0:
      std::swap(shape[d], shape[e]);
      std::swap(strides[d], strides[e]);
      break;
    case 1:  // expanded
      if (shape[d] == 0) break;
      shape[d] = small_size(dice);
      strides[d] = 0;
      break;
    case 2:  // each second
      shape[d] = (shape[d] + 1) / 2;
      strides[d] *= 2;
      break;
    case 3:  // all but the first
      if (shape[d] < 2) break;
      --shape[d];
      offset += strides[d];
      break;
    default:  // rows that overlap
      if (d == e || shape[d] < 2 || shape[e] > shape[d] || strides[d] != 1) break;
      if (t.is_contiguous()) strides[e] = 1, shape[d] /= 2;
      break;
  }
  if (checked_numel(shape) > kMostElements) return t;
  return t.alias(shape, strides, offset);
}

Tensor on_meta(const Tensor& t) {
  Meta m = t.meta();
  m.device = Device{DeviceType::meta};
  return Tensor::empty(m);
}

Tensor with_gradient(const Tensor& t, Dice& dice) {
  if (t.is_float() && !t.is_number() && !autograd::requires_grad(t) && dice.one_in(2))
    autograd::set_requires_grad(t, true);
  return t;
}

Tensor finished(Tensor t, Dice& dice) {
  if (dice.one_in(4)) t = relaid(t, dice);
  if (dice.one_in(30)) t = on_meta(t);
  if (t.storage() && dice.one_in(40)) t.storage()->read_only = true;
  return with_gradient(t, dice);
}

// A tensor much like `t`: one thing is other.
Tensor bent(const Tensor& t, Dice& dice, Walled& memory) {
  Shape shape = t.shape();
  switch (dice.between(0, 7)) {
    case 0:  // other values
      if (t.is_number()) return any_tensor(dice, memory);
      return with_gradient(memory.tensor(shape, t.dtype(), dice), dice);
    case 1:  // another dtype
      return with_gradient(memory.tensor(shape, any_dtype(dice), dice), dice);
    case 2:  // another size
      if (t.rank() == 0) return any_tensor(dice, memory);
      shape[static_cast<int>(dice.between(0, t.rank() - 1))] = small_size(dice);
      return with_gradient(memory.tensor(shape, t.dtype(), dice), dice);
    case 3:  // another rank
      if (dice.one_in(2) || t.rank() == 0) {
        if (t.rank() < kMaxRank)
          shape.insert(static_cast<int>(dice.between(0, t.rank())),
                       dice.any_of<int64_t>({0, 1, 1, 2}));
      } else {
        shape.erase(static_cast<int>(dice.between(0, t.rank() - 1)));
      }
      return with_gradient(memory.tensor(shape, t.dtype(), dice), dice);
    case 4: return relaid(t, dice);
    case 5: return t.is_number() ? t : on_meta(t);
    case 6:  // ids beyond all ends
      if (!is_integer(t.dtype()) || t.is_number() || t.is_meta() || !t.is_contiguous())
        return with_gradient(t, dice);
      for (int64_t i = 0; i < t.numel(); ++i)
        if (dice.one_in(2)) t.store_int(i, any_integer(dice));
      return t;
    default: return any_tensor(dice, memory);
  }
}

template <class T, class F>
void maybe(ArgBlock& args, const FieldInfo& f, Dice& dice, F&& make) {
  auto& place = args.at<std::optional<T>>(f);
  if (dice.one_in(4))
    place.reset();
  else
    place = make();
}

void set_list(ArgBlock& args, const FieldInfo& f, Dice& dice) {
  const bool tame = dice.one_in(2);
  switch (f.kind) {
    case ArgKind::axes: {
      Axes& a = args.at<Axes>(f);
      a.all = dice.one_in(4);
      a.list = Dims();
      for (int64_t n = dice.between(0, 4); n > 0; --n)
        a.list.push_back(tame ? dice.between(-5, 5) : any_integer(dice));
      return;
    }
    case ArgKind::sizes: args.at<Sizes>(f).list = any_dims(dice, 5, tame); return;
    case ArgKind::maybe_sizes:
      return maybe<Sizes>(args, f, dice, [&] { return Sizes(any_dims(dice, 5, tame)); });
    case ArgKind::per_dim: {
      Dims list = any_dims(dice, 4, tame);
      if (list.empty() && dice.one_in(2)) list.push_back(any_integer(dice));
      args.at<PerDim>(f).list = list;
      return;
    }
    case ArgKind::padding: {
      Padding& p = args.at<Padding>(f);
      p.word = static_cast<Padding::Word>(dice.any_of<int>({0, 0, 0, 1, 2}));
      p.list = any_dims(dice, 6, tame);
      return;
    }
    default: {
      auto& list = args.at<Counts>(f).list;
      list.clear();
      for (int64_t n = dice.between(0, 6); n > 0; --n)
        list.push_back(tame ? small_size(dice) : any_integer(dice));
    }
  }
}

void set_number(ArgBlock& args, const FieldInfo& f, Dice& dice) {
  const bool tame = dice.one_in(2);
  const auto integer = [&] { return tame ? dice.between(-3, 8) : any_integer(dice); };
  switch (f.kind) {
    case ArgKind::number: args.at<double>(f) = any_number(dice); return;
    case ArgKind::maybe_number:
      return maybe<double>(args, f, dice, [&] { return any_number(dice); });
    case ArgKind::numbers: {
      auto& list = args.at<std::vector<double>>(f);
      list.clear();
      for (int64_t n = dice.between(0, 5); n > 0; --n) list.push_back(any_number(dice));
      return;
    }
    case ArgKind::integer: args.at<int64_t>(f) = integer(); return;
    case ArgKind::maybe_integer: return maybe<int64_t>(args, f, dice, integer);
    case ArgKind::axis: args.at<Axis>(f).value = integer(); return;
    case ArgKind::maybe_axis: return maybe<Axis>(args, f, dice, [&] { return Axis{integer()}; });
    case ArgKind::position: args.at<Position>(f).value = integer(); return;
    default: return maybe<Position>(args, f, dice, [&] { return Position{integer()}; });
  }
}

void set_word(ArgBlock& args, const FieldInfo& f, Dice& dice) {
  switch (f.kind) {
    case ArgKind::boolean: args.at<bool>(f) = dice.one_in(2); return;
    case ArgKind::text:
      args.at<std::string>(f) = dice.any_of<const char*>(
          {"", "ij,jk->ik", "ii->i", "i,i", "...i->i...", "->", ",", "ijklmnop", "a b,b", "\xff"});
      return;
    case ArgKind::choice:
      args.at<int>(f) = static_cast<int>(dice.between(0, static_cast<int>(f.choices.size()) - 1));
      return;
    case ArgKind::dtype: args.at<DType>(f) = any_dtype(dice); return;
    case ArgKind::maybe_dtype: return maybe<DType>(args, f, dice, [&] { return any_dtype(dice); });
    case ArgKind::maybe_device:
      return maybe<Device>(args, f, dice,
                           [&] { return dice.one_in(3) ? Device{DeviceType::meta} : Device{}; });
    default: args.at<Draw>(f) = {7, 7, true};
  }
}

Tensor bent_or_any(const Tensor& t, Dice& dice, Walled& memory) {
  return t && !dice.one_in(4) ? bent(t, dice, memory) : any_tensor(dice, memory);
}

// Another value for one argument.
void set(ArgBlock& args, const FieldInfo& f, Dice& dice, Walled& memory) {
  switch (f.kind) {
    case ArgKind::tensor: {
      Tensor& t = args.at<Tensor>(f);
      t = bent_or_any(t, dice, memory);
      return;
    }
    case ArgKind::maybe_tensor: {
      auto& t = args.at<std::optional<Tensor>>(f);
      if (t && dice.one_in(3))
        t.reset();
      else
        t = bent_or_any(t ? *t : Tensor(), dice, memory);
      return;
    }
    case ArgKind::tensors: {
      auto& list = args.at<std::vector<Tensor>>(f);
      if (!list.empty() && !dice.one_in(3)) {
        Tensor& t = list[dice.word() % list.size()];
        t = bent_or_any(t, dice, memory);
        return;
      }
      list.clear();
      for (int64_t n = dice.between(0, 4); n > 0; --n) list.push_back(any_tensor(dice, memory));
      return;
    }
    case ArgKind::number:
    case ArgKind::maybe_number:
    case ArgKind::numbers:
    case ArgKind::integer:
    case ArgKind::maybe_integer:
    case ArgKind::axis:
    case ArgKind::maybe_axis:
    case ArgKind::position:
    case ArgKind::maybe_position: return set_number(args, f, dice);
    case ArgKind::axes:
    case ArgKind::sizes:
    case ArgKind::maybe_sizes:
    case ArgKind::per_dim:
    case ArgKind::padding:
    case ArgKind::counts: return set_list(args, f, dice);
    default: return set_word(args, f, dice);
  }
}

std::string shown(const ArgBlock& args, const FieldInfo& f) {
  const auto tensor = [](const Tensor& t) {
    if (!t) return std::string("none");
    if (t.is_number()) return fmt::format("{}", t.item());
    std::string out = fmt::format("{}{}", name(t.dtype()), to_string(t.shape()));
    if (!t.is_contiguous()) out += fmt::format(" strides {}", to_string(t.strides()));
    if (t.is_meta()) out += " meta";
    if (t.needs_grad()) out += " grad";
    if (!t.is_meta() && t.numel() > 0 && t.numel() <= 4 && !t.is_packed()) {
      const std::vector<double> values = t.to_vector();
      out += fmt::format(" {{{}}}", fmt::join(values, ", "));
    }
    return out;
  };
  switch (f.kind) {
    case ArgKind::tensor: return tensor(args.at<Tensor>(f));
    case ArgKind::maybe_tensor: {
      const auto& t = args.at<std::optional<Tensor>>(f);
      return t ? tensor(*t) : "nil";
    }
    case ArgKind::tensors: {
      std::string out;
      for (const Tensor& t : args.at<std::vector<Tensor>>(f)) out += tensor(t) + "; ";
      return "{" + out + "}";
    }
    case ArgKind::maybe_dtype: {
      const auto& d = args.at<std::optional<DType>>(f);
      return d ? std::string(name(*d)) : "nil";
    }
    case ArgKind::maybe_sizes: {
      const auto& s = args.at<std::optional<Sizes>>(f);
      return s ? to_string(s->list) : "nil";
    }
    case ArgKind::draw: return "";
    default: return value_text(f, args.get());
  }
}

}  // namespace

// ---- memory
// ------------------------------------------------------------------------------------

Walled::~Walled() {
  for (const Block& b : blocks_) ::operator delete(b.memory, std::align_val_t(64));
}

Tensor Walled::tensor(const Shape& shape, DType dtype, Dice& dice) {
  const auto bytes = static_cast<size_t>(bytes_of(dtype, checked_numel(shape)));
  auto* memory = static_cast<char*>(::operator new(bytes + 2 * kWall, std::align_val_t(64)));
  blocks_.push_back({memory, bytes});
  std::memset(memory, kWallByte, bytes + 2 * kWall);
  const Tensor t(new TensorImpl(Meta{shape, dtype, {}, {}, false}));
  t.impl()->storage = adopt_storage(
      memory + kWall, bytes, [](void*) {}, nullptr);
  scribble(t, dice);
  return t;
}

Tensor Walled::copy(const Tensor& t) {
  if (t.is_number() || t.is_meta()) return t;
  Dice no_dice(1);
  const Tensor out = tensor(t.shape(), t.dtype(), no_dice);
  const NoGrad quiet;
  copy_(out, t);
  return out;
}

bool Walled::whole() const {
  for (const Block& b : blocks_)
    for (size_t i = 0; i < kWall; ++i)
      if (b.memory[i] != kWallByte || b.memory[kWall + b.bytes + i] != kWallByte) return false;
  return true;
}

Canaries::Canaries() {
  for (int64_t bytes = 64; bytes <= 4096; bytes *= 2) {
    std::vector<Tensor> row;
    for (int i = 0; i < 64; ++i) row.push_back(Tensor::empty({bytes}, DType::u8));
    for (size_t i = 0; i < row.size(); i += 2) {
      std::memset(row[i].data(), kWallByte, static_cast<size_t>(bytes));
      kept_.push_back(row[i]);
    }
  }
}

bool Canaries::whole() const {
  for (const Tensor& t : kept_) {
    const auto* p = t.data_as<char>();
    for (int64_t i = 0; i < t.numel(); ++i)
      if (p[i] != kWallByte) return false;
  }
  return true;
}

// ---- arguments
// ---------------------------------------------------------------------------------

int64_t any_integer(Dice& dice) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (dice.one_in(2)) return dice.between(-7, 7);
  return dice.any_of<int64_t>({kMin, kMin + 1, -(int64_t{1} << 31), -100, 8, 33, 1000,
                               int64_t{1} << 31, int64_t{1} << 40, int64_t{1} << 62, kMax - 1,
                               kMax});
}

Tensor any_tensor(Dice& dice, Walled& memory) {
  if (dice.one_in(12)) {
    if (dice.one_in(2)) return Tensor::number(any_number(dice));
    return Tensor::number(any_integer(dice));
  }
  return finished(memory.tensor(any_shape(dice), any_dtype(dice), dice), dice);
}

void bend(ArgBlock& args, Dice& dice, Walled& memory) {
  const OpInfo& op = args.op();
  const bool lower = dice.one_in(2);
  each_tensor(op, args.get(), [&](size_t, Tensor& t) {
    if (lower && t.dtype() == DType::f64 && !t.is_number()) t = cast(t, DType::f32);
    t = with_gradient(memory.copy(t), dice);
  });
  if (op.fields.empty()) return;
  for (int64_t n = dice.between(1, 3); n > 0; --n)
    set(args, op.fields[dice.word() % op.fields.size()], dice, memory);
}

void fill(ArgBlock& args, Dice& dice, Walled& memory) {
  for (const FieldInfo& f : args.op().fields)
    if (f.required || dice.one_in(2)) set(args, f, dice, memory);
}

std::string described(const ArgBlock& args) {
  std::string out;
  for (const FieldInfo& f : args.op().fields) {
    if (f.kind == ArgKind::draw) continue;
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", f.name, shown(args, f));
  }
  return fmt::format("{}({})", args.op().name, out);
}

}  // namespace rille::misuse
