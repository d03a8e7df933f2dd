#include "ops/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "core/error.h"
#include "core/half.h"
#include "ops/op.h"

namespace rille::values {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLong = 96;  // elements of the arguments of a pointwise op

struct Format {
  int lowest, highest,
      digits;  // exponents of the smallest normal and the largest, bits after the 1
};
Format format_of(DType d) {
  switch (d) {
    case DType::f64: return {-1022, 1023, 52};
    case DType::f32: return {-126, 127, 23};
    case DType::bf16: return {-126, 127, 7};
    default: return {-14, 15, 10};
  }
}

double ulp_of(DType d, double x) {
  const Format f = format_of(d);
  const int exponent = x == 0 ? f.lowest : std::clamp(std::ilogb(x), f.lowest, f.highest);
  return std::ldexp(1.0, exponent - f.digits);
}

double smallest_normal(DType d) { return std::ldexp(1.0, format_of(d).lowest); }

// The value is finite and not 0, but the dtype has no normal number for it.
bool leaves_range(DType d, double want) {
  const double size = std::abs(want);
  return size != 0 && std::isfinite(want) &&
         (size < smallest_normal(d) || size >= std::ldexp(1.0, format_of(d).highest) * 2);
}

}  // namespace

double ulps(DType d, double got, double want, double slack, double dy) {
  if (std::isnan(got) || std::isnan(want))
    return std::isnan(got) && std::isnan(want) ? 0 : kInfinity;
  if (got == want) return 0;
  const int highest = format_of(d).highest;
  const double limit =
      highest == 1023 ? std::numeric_limits<double>::max() : std::ldexp(1.0, highest + 1);
  got = std::clamp(got, -limit, limit), want = std::clamp(want, -limit, limit);
  const double off = std::abs(got / 2 - want / 2) * 2;
  const double flushed = 32 * smallest_normal(d) * std::max(1.0, std::abs(dy));
  if (d != DType::f16 && off <= flushed) return 0;
  return off / std::max(ulp_of(d, want), slack);
}

// ---- values ------------------------------------------------------------------------------------

Draw::Draw(DType d, uint64_t seed, Range range) : dtype_(d), range_(range), random_(seed) {
  const Format f = format_of(d);
  lowest_ = f.lowest, highest_ = f.highest, digits_ = f.digits;
  const double least = std::ldexp(1.0, lowest_ - digits_), normal = std::ldexp(1.0, lowest_),
               eps = std::ldexp(1.0, -digits_), most = std::ldexp(2 - eps, highest_);
  std::vector<double> sizes{0,      least,        3 * least, normal - least,
                            normal, 1.5 * normal, eps / 2,   eps};
  for (const double root : {0.5, 1.0 / 3, 0.25})
    for (const double by : {0.5, 1.0, 3.0})
      for (const int end : {lowest_, highest_}) sizes.push_back(by * std::exp2(end * root));
  for (const double x : {1 - eps / 2,
                         1.0,
                         1 + eps,
                         1 + 2 * eps,
                         0.1,
                         0.25,
                         0.5,
                         0.75,
                         1.5,
                         2.0,
                         2.5,
                         3.0,
                         3.5,
                         4.0,
                         5.0,
                         6.0,
                         7.0,
                         8.5,
                         10.0,
                         17.0,
                         20.0,
                         33.0,
                         40.0,
                         87.0,
                         88.7,
                         89.0,
                         100.0,
                         104.0,
                         300.0,
                         709.0,
                         1000.0,
                         6e4,
                         1e6,
                         1e8,
                         1e16,
                         1e23,
                         1.5707963267948966,
                         3.141592653589793,
                         0.6931471805599453})
    sizes.push_back(x);
  for (const int more : {-1, 0, 1}) sizes.push_back(std::ldexp(1.0, digits_ + more));
  for (const double x : {most / 2, most, kInfinity, std::nan("")}) sizes.push_back(x);
  if (range != Range::whole &&
      range != Range::apart) {  // the arithmetic of f16 has the range of f32
    const int part = range == Range::half || d == DType::f16 ? 2 : 4;
    lowest_ = lowest_ / part, highest_ = highest_ / part;
  }
  for (const double x : sizes)
    for (const double sign : {1.0, -1.0})
      if (fits(x)) edges_.push_back(rounded(sign * x));
}

bool Draw::fits(double x) const {
  if (range_ == Range::whole || range_ == Range::apart || x == 0) return true;
  return std::abs(x) >= std::ldexp(1.0, lowest_) && std::abs(x) < std::ldexp(1.0, highest_ + 1);
}

double Draw::rounded(double x) const {
  switch (dtype_) {
    case DType::f32: return static_cast<float>(x);
    case DType::bf16: return static_cast<float>(bf16(static_cast<float>(x)));
    case DType::f16: return static_cast<float>(f16(static_cast<float>(x)));
    default: return x;
  }
}
int64_t Draw::below(size_t n) const { return static_cast<int64_t>(random_() % n); }
double Draw::uniform(double low, double high) const {
  return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
}
double Draw::power(int low, int high) const {
  return std::ldexp(uniform(1, 2),
                    low + static_cast<int>(below(static_cast<size_t>(high - low + 1))));
}
double Draw::random_bits() const {
  const uint64_t bits = random_();
  switch (dtype_) {
    case DType::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::bf16: return bits_to_float(static_cast<uint32_t>(bits) << 16);
    case DType::f16: return f16_value(static_cast<uint16_t>(bits));
    default: return std::bit_cast<double>(bits);
  }
}
double Draw::moved(double x) const {
  const double step = ulp_of(dtype_, x);
  return std::isfinite(x) ? x + (below(2) == 0 ? step : -step) : x;
}

void Draw::next() {
  kind_ = static_cast<Kind>(below(9));
  if ((range_ == Range::quarter || range_ == Range::apart) && kind_ == Kind::close)
    kind_ = Kind::ordinary;
  if (range_ == Range::ordinary) kind_ = Kind::ordinary;
  exponent_ = lowest_ + static_cast<int>(below(static_cast<size_t>(highest_ - lowest_ + 1)));
  base_ = below(3) == 0 ? rounded(uniform(-4, 4)) : rounded(power(lowest_, highest_));
}

double Draw::one() {
  const double sign = below(2) == 0 ? 1 : -1;
  switch (kind_) {
    case Kind::edges: return edges_[static_cast<size_t>(below(edges_.size()))];
    case Kind::finite:
      while (true) {
        const double x = edges_[static_cast<size_t>(below(edges_.size()))];
        if (std::isfinite(x)) return x;
      }
    case Kind::bits: {
      const double x = random_bits();
      if (std::isnan(x) && range_ == Range::whole) return std::nan("");  // dtypes drop its sign
      return fits(x) ? x : rounded(uniform(-4, 4));
    }
    case Kind::magnitude: return rounded(sign * std::ldexp(uniform(1, 2), exponent_));
    case Kind::ordinary: return rounded(uniform(-4, 4));
    case Kind::equal: return base_;
    case Kind::close: return rounded(base_ + static_cast<double>(below(9)) * ulp_of(dtype_, base_));
    case Kind::unit: {
      const double x = below(2) == 0 ? uniform(0, 1) : std::exp2(uniform(lowest_, 0));
      return rounded(below(2) == 0 ? x : 1 - x);
    }
    default: return rounded(power(lowest_, highest_));
  }
}

std::vector<double> Draw::fill(size_t n, size_t number, const std::vector<double>& first) {
  std::vector<double> v(n);
  for (double& x : v) x = one();
  for (double& x : v)
    if (!fits(x)) x = 0;
  // Ties, neighbours and opposites.
  if (number > 0 && first.size() == n && below(3) == 0)
    for (size_t i = 0; i < n; ++i) {
      const int64_t way = below(4);
      if (way == 0) v[i] = first[i];
      if (way == 1) v[i] = rounded(moved(first[i]));
      if (way == 2) v[i] = -first[i];
    }
  if (number > 0 && kind_ == Kind::magnitude && below(2) == 0)
    exponent_ = lowest_ + static_cast<int>(below(static_cast<size_t>(highest_ - lowest_ + 1)));
  return v;
}

std::vector<double> Draw::seed_gradient(size_t n) {
  const int64_t way = below(4);
  const double scale = way < 3 ? 1 : power(lowest_ / 2, highest_ / 2);
  std::vector<double> v(n);
  for (double& x : v)
    x = way == 0 ? 1 : rounded((below(2) == 0 ? scale : -scale) * uniform(0.5, 1));
  return v;
}

// ---- one op ------------------------------------------------------------------------------------

namespace {

using Lists = std::vector<std::vector<double>>;

bool is_leaf(const Tensor& t) { return t.dtype() == DType::f64 && !t.is_number(); }

struct Outcome {
  std::vector<Tensor> values;
  Lists gradients;  // one for each leaf; empty where there is none
  std::string refused;
};

// A sample whose f64 tensors are replaced by values.
class Case {
 public:
  Case(const OpInfo& op, const Sample& sample, bool gradient)
      : op_(op), args_(sample.args.clone()), gradient_(gradient && op.differentiable) {
    each_tensor(op, args_.get(), [&](size_t, Tensor& t) {
      if (!is_leaf(t)) return;
      shapes_.push_back(op.strided_out ? Shape{kLong} : t.shape());
      empty_ |= t.numel() == 0;
    });
  }
  bool usable() const { return !shapes_.empty() && !empty_; }
  size_t leaves() const { return shapes_.size(); }
  size_t numel(size_t leaf) const { return static_cast<size_t>(checked_numel(shapes_[leaf])); }
  bool elementwise() const { return op_.strided_out; }

  /// The op in that dtype. `seeds` are made by `seed` from the numbers of elements, or reused.
  template <class Seed>
  Outcome run(const Lists& values, DType d, Lists& seeds, Seed&& seed) const {
    Outcome out;
    try {
      std::vector<Tensor> leaves;
      ArgBlock args = args_.clone();
      each_tensor(op_, args.get(), [&](size_t, Tensor& t) {
        if (!is_leaf(t)) {
          // Kernels compute in f32, or in f64: both shall get the same number.
          if (t.is_number() && t.is_float())
            t = Tensor::number(double{static_cast<float>(t.item())});
          if (op_.strided_out && !t.is_number() && t.rank() > 0)
            t = Tensor::of(std::vector<double>(kLong, t.at(0)), {kLong}, t.dtype());
          return;
        }
        const size_t i = leaves.size();
        leaves.push_back(Tensor::of(values[i], shapes_[i], d));
        if (gradient_) autograd::set_requires_grad(leaves.back(), true);
        t = leaves.back();
      });
      Results results;
      call_erased(op_, args.get(), results);
      out.values.assign(results.begin(), results.end());
      if (gradient_) differentiate(out, leaves, seeds, seed);
    } catch (const Error& e) {
      out.refused = std::string(e.code());
    }
    return out;
  }

  std::string text(const Lists& values, const Lists& seeds, size_t at, DType d) const {
    std::string s;
    const auto add = [&](const char* name, const std::vector<double>& v) {
      s += fmt::format(" {} ", name);
      if (elementwise()) {
        s += at < v.size() ? fmt::format("{:.9g}", v[at]) : "-";
        return;
      }
      s += "{";
      for (size_t i = 0; i < v.size() && i < 8; ++i)
        s += fmt::format("{}{:.9g}", i ? "," : "", v[i]);
      s += v.size() > 8 ? ",...}" : "}";
    };
    for (const auto& v : values) add("x", v);
    for (const auto& v : seeds) add("dy", v);
    return fmt::format("{}[{}]{}", name(d), at + 1, s);
  }

 private:
  template <class Seed>
  void differentiate(Outcome& out, const std::vector<Tensor>& leaves, Lists& seeds,
                     Seed&& seed) const {
    std::vector<Tensor> ends, dys;
    for (const Tensor& t : out.values) {
      if (!t.needs_grad() || !t.is_float()) continue;
      if (seeds.size() <= ends.size()) seeds.push_back(seed(static_cast<size_t>(t.numel())));
      dys.push_back(Tensor::of(seeds[ends.size()], t.shape(), t.dtype()));
      ends.push_back(t);
    }
    if (ends.empty()) return;
    for (const Tensor& g : autograd::grad(ends, leaves, dys, {.allow_unused = true}))
      out.gradients.push_back(g ? g.to_vector() : std::vector<double>());
  }

  const OpInfo& op_;
  ArgBlock args_;
  bool gradient_, empty_ = false;
  std::vector<Shape> shapes_;
};

// What an ulp is at least, for each element.
struct Slack {
  Lists values, gradients;
  static void fill(Lists& slack, const Lists& like, double least) {
    for (const auto& list : like) slack.emplace_back(list.size(), least);
  }
  static void widen(Lists& slack, const Lists& base, const Lists& moved) {
    slack.resize(base.size());
    for (size_t r = 0; r < base.size(); ++r) {
      slack[r].resize(base[r].size());
      for (size_t i = 0; i < base[r].size() && r < moved.size() && i < moved[r].size(); ++i) {
        const double change = std::abs(moved[r][i] - base[r][i]);
        slack[r][i] = std::max(slack[r][i], change == change ? change : kInfinity);
      }
    }
  }
};

Lists lists_of(const std::vector<Tensor>& ts) {
  Lists out;
  for (const Tensor& t : ts) out.push_back(t.to_vector());
  return out;
}

class Sweep {
 public:
  Sweep(const Case& c, DType d, const Bound& bound, Draw& draw, Findings& found)
      : case_(c), dtype_(d), bound_(bound), draw_(draw), found_(found) {}

  /// False where the dtype is refused.
  bool round() {
    draw_.next();
    Lists values, seeds;
    for (size_t i = 0; i < case_.leaves(); ++i)
      values.push_back(draw_.fill(case_.numel(i), i, values.empty() ? Empty : values[0]));
    const auto seed = [&](size_t n) { return draw_.seed_gradient(n); };
    const Outcome got = case_.run(values, dtype_, seeds, seed);
    if (got.refused == "E_DTYPE") return false;
    const Outcome want = case_.run(values, DType::f64, seeds, seed);
    if (!got.refused.empty() || !want.refused.empty()) {
      if (got.refused != want.refused) worse(found_.value, kInfinity, values, seeds, 0);
      return true;
    }
    const Slack slack = slack_of(values, seeds, want);
    lost_.assign(case_.elementwise() ? case_.numel(0) : 1, false);
    for (size_t r = 0; r < got.values.size(); ++r) {
      const DType d = got.values[r].dtype();
      const std::vector<double> given = got.values[r].to_vector(),
                                wanted = want.values[r].to_vector();
      compare(found_.value, d, given, wanted, slack.values, r, values, seeds);
      for (size_t i = 0; i < wanted.size() && is_float(d); ++i)
        if (leaves_range(d, wanted[i]) || (std::isfinite(wanted[i]) && !std::isfinite(given[i])))
          lost_[i % lost_.size()] = true;
    }
    for (size_t r = 0; r < got.gradients.size() && r < want.gradients.size(); ++r)
      compare(found_.gradient, dtype_, got.gradients[r], want.gradients[r], slack.gradients, r,
              values, seeds, &lost_);
    return true;
  }

 private:
  inline static const std::vector<double> Empty;

  Slack slack_of(const Lists& values, Lists& seeds, const Outcome& base) {
    Slack slack;
    const bool v = moves(bound_.value_judge), g = moves(bound_.gradient_judge);
    by_size(slack, values, seeds, base);
    if (!v && !g) return slack;
    const auto seed = [&](size_t n) { return std::vector<double>(n, 1); };
    const Lists wanted = lists_of(base.values);
    for (int k = 0; k < 4; ++k) {
      Lists moved = values;
      for (auto& list : moved)
        for (double& x : list) x = draw_.moved(x);
      const Outcome o = case_.run(moved, DType::f64, seeds, seed);
      if (v) Slack::widen(slack.values, wanted, lists_of(o.values));
      if (g) Slack::widen(slack.gradients, base.gradients, o.gradients);
    }
    return slack;
  }

  double dy_of(const Lists& seeds, size_t i) const {
    return case_.elementwise() && !seeds.empty() ? seeds[0][i] : largest(seeds);
  }
  static bool moves(Judge j) { return j == Judge::of_arguments || j == Judge::of_both; }
  static bool has_size(Judge j) { return j == Judge::of_size || j == Judge::of_both; }
  static double largest(const Lists& lists) {
    double most = 0;
    for (const auto& list : lists)
      for (const double x : list)
        if (std::isfinite(x)) most = std::max(most, std::abs(x));
    return most;
  }
  // Elementwise ops have a size for each element, others one for all.
  void by_size(Slack& slack, const Lists& values, const Lists& seeds, const Outcome& base) {
    const auto fill = [&](Lists& to, const Lists& like, const Lists& from) {
      Slack::fill(to, like, ulp_of(dtype_, largest(from)));
      if (!case_.elementwise()) return;
      for (size_t i = 0; i < case_.numel(0); ++i) {
        double most = 0;
        for (const auto& list : from)
          if (i < list.size() && std::isfinite(list[i])) most = std::max(most, std::abs(list[i]));
        for (auto& list : to)
          if (i < list.size()) list[i] = ulp_of(dtype_, most);
      }
    };
    if (has_size(bound_.value_judge)) fill(slack.values, lists_of(base.values), values);
    if (has_size(bound_.gradient_judge)) fill(slack.gradients, base.gradients, seeds);
    // Elements of a result that are worked out together are as exact as the largest of them.
    const auto by_largest = [&](Lists& to, const Lists& like) {
      to.resize(like.size());
      for (size_t r = 0; r < like.size(); ++r) {
        to[r].resize(like[r].size());
        for (double& least : to[r]) least = std::max(least, ulp_of(dtype_, largest({like[r]})));
      }
    };
    if (case_.elementwise()) return;
    if (moves(bound_.value_judge)) by_largest(slack.values, lists_of(base.values));
    if (moves(bound_.gradient_judge)) by_largest(slack.gradients, base.gradients);
  }

  void compare(Worst& worst, DType d, const std::vector<double>& got,
               const std::vector<double>& want, const Lists& slack, size_t r, const Lists& values,
               const Lists& seeds, const std::vector<bool>* lost = nullptr) {
    for (size_t i = 0; i < got.size() && i < want.size(); ++i) {
      if (lost && (*lost)[i % lost->size()]) continue;
      ++found_.cases;
      const Judge judge = lost ? bound_.gradient_judge : bound_.value_judge;
      const double scale = r < slack.size() ? slack[r][i] : 0;
      if (std::isinf(scale) || judge == Judge::none) continue;
      const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
      const double dy = lost ? dy_of(seeds, i) : 1;
      const double error = is_float(d) ? ulps(d, got[i], want[i], scale, dy) : same ? 0 : kInfinity;
      if (error > worst.ulps) {
        worse(worst, error, values, seeds, i);
        worst.where += fmt::format(": {:.9g}, want {:.9g}", got[i], want[i]);
      }
    }
  }
  void worse(Worst& worst, double error, const Lists& values, const Lists& seeds, size_t at) {
    worst = {error, case_.text(values, seeds, at, dtype_)};
  }

  const Case& case_;
  DType dtype_;
  const Bound& bound_;
  Draw& draw_;
  Findings& found_;
  std::vector<bool> lost_;  // results that the dtype can't hold: their gradients are not judged
};

}  // namespace

std::optional<Findings> sweep(const OpInfo& op, DType d, const Bound& bound, int rounds,
                              uint64_t seed) {
  if (op.view || op.draws || !op.samples) return std::nullopt;
  for (const FieldInfo& f : op.fields)
    if (f.name == "dy" || f.name == "lse") return std::nullopt;  // measured by the op it belongs to
  SampleList samples;
  op.samples(samples);
  Findings found;
  Draw draw(d, seed, bound.range);
  for (const Sample& s : samples) {
    const Case c(op, s, true);
    if (!c.usable()) continue;
    Sweep sweep(c, d, bound, draw, found);
    for (int r = 0; r < rounds; ++r)
      if (!sweep.round()) return std::nullopt;
  }
  if (found.cases == 0) return std::nullopt;
  return found;
}

}  // namespace rille::values
