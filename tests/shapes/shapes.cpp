#include "shapes/shapes.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/fail.h"
#include "core/threads.h"

namespace rille::shapes {

// ---- chance -----------------------------------------------------------------------------------

int64_t Dice::size(int64_t limit) {
  constexpr int64_t kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 31, 61, 97, 127, 251, 509, 1021, 4093};
  constexpr int64_t kBlocks[] = {4, 6, 8, 12, 14, 16, 24, 32, 48, 64, 96, 192, 256, 1024, 4096};
  const auto pick = [&](const auto& list) {
    return list[between(0, static_cast<int64_t>(std::size(list)) - 1)];
  };
  int64_t n = 0;
  switch (between(0, 6)) {
    case 0: n = one_in(3) ? 0 : 1; break;
    case 1: n = between(1, 5); break;
    case 2: n = pick(kPrimes); break;
    case 3: n = (int64_t{1} << between(1, 13)) + between(-1, 1); break;
    case 4: n = pick(kBlocks) * between(1, 3) + between(-1, 1); break;
    default: n = between(0, limit);
  }
  return n <= limit ? n : between(std::min<int64_t>(1, limit), limit);
}

Shape Dice::shape(int rank, int64_t budget) {
  std::vector<int64_t> sizes;
  int64_t room = budget;
  for (int d = 0; d < rank; ++d) {
    // a rank above 3 has mostly small dims, else the first ones would take all
    const int64_t limit =
        d + 1 < rank && rank > 2 && !one_in(4) ? std::min<int64_t>(room, 40) : room;
    sizes.push_back(size(std::max<int64_t>(1, limit)));
    room /= std::max<int64_t>(1, sizes.back());
  }
  std::shuffle(sizes.begin(), sizes.end(), random_);
  return Shape(sizes.begin(), sizes.end());
}

Values Dice::values(int64_t n, double low, double high) {
  Values v(at(n));
  for (double& x : v) x = real(low, high);
  return v;
}

// ---- storage ----------------------------------------------------------------------------------

constexpr unsigned char kWall = 0xff;  // nan in every float format

Array::Array(DType d, int64_t n, Dice& dice) : dtype_(d), n_(n) {
  const auto wall = [&] { return dice.one_in(3) ? 0 : at(dice.between(1, 40)) * size_of(d); };
  before_ = wall(), after_ = wall();
  bytes_.assign(before_ + at(n) * size_of(d) + after_, kWall);
}

void Array::set(const Values& v) {
  char* to = static_cast<char*>(data());
  for (size_t i = 0; i < v.size(); ++i) store_element(dtype_, to + i * size_of(dtype_), v[i]);
}

Values Array::values() const {
  Values v(at(n_));
  const char* from = static_cast<const char*>(data());
  for (size_t i = 0; i < v.size(); ++i) v[i] = load_element(dtype_, from + i * size_of(dtype_));
  return v;
}

bool Array::walls_stand() const {
  const auto whole = [](unsigned char c) { return c == kWall; };
  return std::all_of(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(before_),
                     whole) &&
         std::all_of(bytes_.end() - static_cast<std::ptrdiff_t>(after_), bytes_.end(), whole);
}

namespace {

void fill(Dice& dice, const Tensor& t, double low, double high) {
  Index i(t.shape());
  for (int64_t k = 0; k < t.numel(); ++k, i.next())
    store_element(
        t.dtype(),
        t.data_as<char>() + i.offset(t.strides()) * static_cast<int64_t>(size_of(t.dtype())),
        is_float(t.dtype()) ? dice.real(low, high) : std::floor(dice.real(low, high + 1)));
}

}  // namespace

Tensor packed_tensor(Dice& dice, const Shape& shape, DType d, double low, double high) {
  const Tensor t = Tensor::empty(shape, d);
  fill(dice, t, low, high);
  return t;
}

namespace {

Tensor laid_out(Dice& dice, const Shape& shape, DType d, bool repeats) {
  const int rank = shape.size();
  std::vector<int> order(at(rank));
  for (int i = 0; i < rank; ++i) order[at(i)] = i;
  if (dice.flip())
    for (int i = rank - 1; i > 0; --i) std::swap(order[at(i)], order[at(dice.between(0, i))]);
  Strides strides = Strides::filled(rank, 0);
  int64_t step = dice.one_in(4) ? 2 : 1, offset = dice.between(0, 3);
  for (int i = rank - 1; i >= 0; --i) {
    const int dim = order[at(i)];
    if (repeats && dice.one_in(8)) continue;
    strides[dim] = step;
    step *= std::max<int64_t>(1, shape[dim]);
    if (dice.one_in(6)) step += dice.between(1, 5);
    if (dice.one_in(8) && shape[dim] > 0) {
      offset += strides[dim] * (shape[dim] - 1);
      strides[dim] = -strides[dim];
    }
  }
  const Tensor block = Tensor::empty({step + 8}, d);
  std::memset(block.data(), d == DType::boolean ? 1 : kWall, static_cast<size_t>(block.nbytes()));
  return block.alias(shape, strides, offset);
}

}  // namespace

Tensor random_tensor(Dice& dice, const Shape& shape, DType d, double low, double high) {
  if (dice.one_in(3)) return packed_tensor(dice, shape, d, low, high);
  const Tensor t = laid_out(dice, shape, d, true);
  fill(dice, t, low, high);
  return t;
}

Tensor random_target(Dice& dice, const Shape& shape, DType d) {
  return dice.one_in(3) ? Tensor::empty(shape, d) : laid_out(dice, shape, d, false);
}

Values values_of(const Tensor& t) {
  Values v(at(t.numel()));
  Index i(t.shape());
  for (double& x : v) {
    x = load_element(t.dtype(), t.data_as<char>() + i.offset(t.strides()) *
                                                        static_cast<int64_t>(size_of(t.dtype())));
    i.next();
  }
  return v;
}

// ---- what is wanted ---------------------------------------------------------------------------

double unit_roundoff(DType d) { return is_float(d) ? float_info(d).eps / 2 : 0; }

Want rounded(DType d, double value, double roundings, double size, DType compute) {
  double slack = roundings * unit_roundoff(compute) * size;
  if (d != compute) {
    slack += (std::fabs(value) + slack) * unit_roundoff(d);
    if (is_float(d)) slack += float_info(d).smallest_subnormal / 2;
  }
  for (const DType t : {d, compute})
    if (is_float(t)) slack += roundings * float_info(t).smallest_subnormal;
  return {value, slack};
}

Want Sum::in(DType d, double more, DType compute) const {
  return rounded(d, static_cast<double>(value), static_cast<double>(terms) + more,
                 static_cast<double>(size), compute);
}

namespace {

bool agrees(DType d, double got, const Want& want) {
  if (std::isnan(want.value) || std::isnan(got)) return std::isnan(want.value) && std::isnan(got);
  if (got == want.value) return true;
  if (std::isinf(got) && is_float(d))  // rounded up past the largest number
    return std::signbit(got) == std::signbit(want.value) &&
           std::fabs(want.value) + want.slack >= float_info(d).max * (1 - unit_roundoff(d));
  return std::fabs(got - want.value) <= want.slack;
}

}  // namespace

std::string differs(std::string_view what, DType d, const Values& got, const Wants& want) {
  if (got.size() != want.size())
    return fmt::format("{}: {} elements, want {}", what, got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (!agrees(d, got[i], want[i]))
      return fmt::format("{}[{}] is {:.9g}, want {:.9g} +- {:.3g}", what, i, got[i], want[i].value,
                         want[i].slack);
  return {};
}

// ---- runs -------------------------------------------------------------------------------------

namespace {

constexpr int kThreads[] = {1, 2, 4};

struct ThreadsRestored {
  int before = threads();
  ~ThreadsRestored() { set_threads(before); }
};

std::string with_count(int n, const std::string& text) {
  return text.empty() ? text : fmt::format("{} threads: {}", n, text);
}

bool same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].nbytes() != b[i].nbytes() ||
        (a[i].nbytes() > 0 &&
         std::memcmp(a[i].data(), b[i].data(), static_cast<size_t>(a[i].nbytes())) != 0))
      return false;
  return true;
}

}  // namespace

std::string with_threads(const Arrays& outs, const std::function<void(Arrays&)>& kernel,
                         const std::function<std::string(const Arrays&)>& judge, Bits bits) {
  const ThreadsRestored restored;
  Arrays first;
  for (const int n : kThreads) {
    set_threads(n);
    Arrays mine = outs;
    kernel(mine);
    for (size_t i = 0; i < mine.size(); ++i)
      if (!mine[i].walls_stand()) return with_count(n, fmt::format("wrote outside result {}", i));
    if (n == 1 || bits == Bits::may_differ) {
      if (std::string text = judge(mine); !text.empty()) return with_count(n, text);
      if (n == 1) first = std::move(mine);
      continue;
    }
    for (size_t i = 0; i < mine.size(); ++i)
      if (!mine[i].same_bytes(first[i]))
        return with_count(n, fmt::format("other bits in result {} than with one", i));
  }
  return {};
}

std::string with_threads(const std::function<std::vector<Tensor>()>& kernel,
                         const std::function<std::string(const std::vector<Tensor>&)>& judge) {
  const ThreadsRestored restored;
  std::vector<Tensor> first;
  for (const int n : kThreads) {
    set_threads(n);
    std::vector<Tensor> mine = kernel();
    if (n == 1) {
      if (std::string text = judge(mine); !text.empty()) return with_count(n, text);
      first = std::move(mine);
    } else if (!same_bytes(mine, first)) {
      return with_count(n, "other bits than with one");
    }
  }
  return {};
}

}  // namespace rille::shapes
