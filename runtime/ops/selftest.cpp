#include "ops/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/engine.h"
#include "autograd/gradcheck.h"
#include "autograd/node.h"
#include "core/error.h"
#include "core/threads.h"
#include "ops/cast.h"
#include "ops/create.h"

namespace rille {
namespace {

// ---- arguments
// -----------------------------------------------------------------------------------

// A copy of the arguments with each tensor replaced by change(tensor).
template <class F>
ArgBlock changed(const ArgBlock& args, F&& change) {
  ArgBlock out = args.clone();
  each_tensor(out.op(), out.get(), [&](size_t, Tensor& t) { t = change(t); });
  return out;
}

Results run(const ArgBlock& args) {
  Results out;
  call_erased(args.op(), args.get(), out);
  return out;
}

bool is_wide(const Tensor& t) { return t.dtype() == DType::f64 && !t.is_number(); }

// The same values with every second element of memory unused and the order of dims turned around.
Tensor with_gaps(const Tensor& t) {
  if (t.is_number() || t.rank() == 0) return t;
  Shape turned;
  for (int d = t.rank() - 1; d >= 0; --d) turned.push_back(t.shape()[d]);
  turned.push_back(2);
  const Tensor block = Tensor::empty(turned, t.dtype());
  Strides strides;
  for (int d = t.rank() - 1; d >= 0; --d) strides.push_back(block.strides()[d]);
  const Tensor out = block.alias(t.shape(), strides, 0);
  copy_(out, t);
  return out;
}

Tensor on_meta(const Tensor& t) {
  if (t.is_number()) return t;
  Meta m = t.meta();
  m.device = Device{DeviceType::meta};
  return Tensor::empty(m);
}

// ---- comparing
// -----------------------------------------------------------------------------------

bool near(double a, double b, double tolerance, double scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(scale, std::abs(b));
}

// Empty, or how two results differ.
std::string difference(const Results& got, const Results& want, double tolerance,
                       double limit = HUGE_VAL) {
  if (got.size() != want.size())
    return fmt::format("{} results, wanted {}", got.size(), want.size());
  for (size_t r = 0; r < got.size(); ++r) {
    if (got[r].shape() != want[r].shape())
      return fmt::format("shape {}, wanted {}", to_string(got[r].shape()),
                         to_string(want[r].shape()));
    const std::vector<double> g = got[r].to_vector(), w = want[r].to_vector();
    for (size_t i = 0; i < g.size(); ++i)
      if (!near(g[i], w[i], tolerance, 1) && std::abs(w[i]) < limit)
        return fmt::format("result {} element {}: {:.9g}, wanted {:.9g}", r + 1, i + 1, g[i], w[i]);
  }
  return {};
}

// ---- the checks
// ----------------------------------------------------------------------------------

struct Precision {
  DType dtype;
  std::string_view check;
  double tolerance, limit;
};
constexpr Precision kPrecisions[] = {{DType::f32, "f32", 1e-5, 1e38},
                                     {DType::bf16, "bf16", 1.6e-2, 1e38},
                                     {DType::f16, "f16", 2e-3, 65504}};

// Vector and scalar forms of a function differ in the last bits, and which one an element gets may
// depend on the layout.
constexpr double kRounding = 1e-12;

struct ThreadCount {
  int before = threads();
  ~ThreadCount() { set_threads(before); }
};

struct DeterministicMode {
  uint32_t before = Context::current().flags;
  DeterministicMode() { Context::current().flags |= kDeterministic; }
  ~DeterministicMode() { Context::current().flags = before; }
};

class SampleTest {
 public:
  SampleTest(const OpInfo& op, Sample& sample, int number, std::vector<SelftestResult>& out)
      : op_(op), sample_(sample), args_(sample.args.clone()), number_(number), out_(out) {
    for (const FieldInfo& f : op.fields)
      if (f.kind == ArgKind::draw) args_.at<Draw>(f) = {7, static_cast<uint64_t>(number), true};
  }

  void run_all(const SelftestOptions& options) {
    Results wanted;
    {
      const NoGrad quiet;
      check("runs", [&] {
        wanted = run(args_);
        return std::string();
      });
      if (!out_.back().passed) return;
      if (op_.kernel[0] && op_.compose) check("compose", [&] { return against_compose(wanted); });
      for (const Precision& p : kPrecisions)
        if (any([](const Tensor& t) { return is_wide(t); }))
          check(p.check, [&] { return in_dtype(p); });
      if (any([](const Tensor& t) { return !t.is_number(); }))
        check("meta", [&] { return on_meta_device(wanted); });
      if (any([](const Tensor& t) { return t.rank() > 0; }))
        check("strided", [&] { return with_strides(wanted); });
      if (op_.in_place && fits_in_place(wanted))
        check("in place", [&] { return in_place(wanted); });
    }
    if (options.gradients && has_gradient()) gradients(wanted);
    check("threads", [&] { return with_threads(); });
  }

 private:
  static bool is_precision(std::string_view check) {
    return std::any_of(std::begin(kPrecisions), std::end(kPrecisions),
                       [&](const Precision& p) { return p.check == check; });
  }

  // Refusals of a dtype, or of meta tensors by ops that depend on values, are no failures.
  template <class F>
  void check(std::string_view name, F&& body) {
    SelftestResult r{op_.name, number_, name, true, {}};
    try {
      r.message = body();
    } catch (const Error& e) {
      if ((e.code() == "E_DTYPE" && (is_precision(name) || name == "threads")) ||
          (e.code() == "E_NO_KERNEL" && name == "meta"))
        return;
      r.message = fmt::format("{} {}", e.code(), e.what());
    }
    r.passed = r.message.empty();
    out_.push_back(std::move(r));
  }

  template <class F>
  bool any(F&& holds) const {
    bool found = false;
    each_tensor(op_, args_.get(), [&](size_t, Tensor& t) { found |= holds(t); });
    return found;
  }

  std::string against_compose(const Results& wanted) const {
    Results composed;
    op_.compose(args_.get(), composed);
    std::string text = difference(wanted, composed, 1e-9);
    if (!text.empty()) return text;
    const ArgBlock narrow =
        changed(args_, [](const Tensor& t) { return is_wide(t) ? cast(t, DType::f32) : t; });
    composed.clear();
    op_.compose(narrow.get(), composed);
    text = difference(run(narrow), composed, 1e-5);
    return text.empty() ? text : "in f32: " + text;
  }

  // Both sides see the rounded arguments, so that only the op's own rounding is measured.
  std::string in_dtype(const Precision& p) const {
    const ArgBlock narrow =
        changed(args_, [&](const Tensor& t) { return is_wide(t) ? cast(t, p.dtype) : t; });
    const ArgBlock rounded = changed(args_, [&](const Tensor& t) {
      return is_wide(t) ? cast(cast(t, p.dtype), DType::f64) : t;
    });
    return difference(run(narrow), run(rounded), p.tolerance, p.limit);
  }

  std::string on_meta_device(const Results& wanted) const {
    const Results got = run(changed(args_, on_meta));
    for (size_t r = 0; r < got.size(); ++r)
      if (got[r].shape() != wanted[r].shape() || got[r].dtype() != wanted[r].dtype())
        return fmt::format("{} foretold, the result is {}", describe(got[r]), describe(wanted[r]));
    return {};
  }

  std::string with_strides(const Results& wanted) const {
    // What takes strides means the memory as it lies.
    for (const FieldInfo& f : op_.fields)
      if (f.kind == ArgKind::sizes && f.name == "stride") return {};
    try {
      return difference(run(changed(args_, with_gaps)), wanted, kRounding);
    } catch (const Error& e) {
      if (!op_.kernel[0] && e.code() == "E_SHAPE") return {};  // a view may refuse some strides
      throw;
    }
  }

  const Tensor* first() const {
    const FieldInfo& f = op_.fields[0];
    return f.kind == ArgKind::tensor ? &args_.at<Tensor>(f) : nullptr;
  }

  bool fits_in_place(const Results& wanted) const {
    const Tensor* x = first();
    return x && !x->is_number() && x->shape() == wanted[0].shape() &&
           category(wanted[0].dtype()) <= category(x->dtype());
  }

  // x:op_(...) on a copy of x, returned as the result.
  Tensor written(const ArgBlock& args) const {
    ArgBlock own = args.clone();
    Tensor& x = own.at<Tensor>(op_.fields[0]);
    x = clone(x);
    return call_in_place(op_, own.get());
  }

  std::string in_place(const Results& wanted) const {
    const std::string text = difference({written(args_)}, {wanted[0]}, kRounding);
    if (!text.empty() || first()->rank() == 0) return text;
    ArgBlock gaps = args_.clone();
    Tensor& x = gaps.at<Tensor>(op_.fields[0]);
    x = with_gaps(x);
    return difference({call_in_place(op_, gaps.get())}, {wanted[0]}, kRounding);
  }

  bool has_gradient() const {
    return op_.differentiable && sample_.gradient &&
           any([](const Tensor& t) { return is_wide(t); });
  }

  // The op as a function of its f64 tensors.
  autograd::TensorFunction function(bool writing) const {
    return [this, writing](const std::vector<Tensor>& xs) {
      size_t next = 0;
      const ArgBlock args =
          changed(args_, [&](const Tensor& t) { return is_wide(t) ? xs[next++] : t; });
      if (writing) return std::vector<Tensor>{written(args)};
      Results r = run(args);
      return std::vector<Tensor>(r.begin(), r.end());
    };
  }

  std::vector<Tensor> leaves() const {
    std::vector<Tensor> xs;
    each_tensor(op_, args_.get(), [&](size_t, Tensor& t) {
      if (!is_wide(t)) return;
      const NoGrad quiet;
      xs.push_back(clone(t));
      autograd::set_requires_grad(xs.back(), true);
    });
    return xs;
  }

  void gradients(const Results& wanted) {
    const bool floats =
        std::any_of(wanted.begin(), wanted.end(), [](const Tensor& t) { return t.is_float(); });
    if (!floats) return;
    const autograd::TensorFunction fn = function(false);
    const std::vector<Tensor> xs = leaves();
    check("gradient", [&] { return autograd::gradcheck(fn, xs).message; });
    if (sample_.second_gradient && out_.back().passed)
      check("second gradient", [&] { return autograd::gradgradcheck(fn, xs).message; });
    if (op_.in_place && fits_in_place(wanted) && is_wide(*first()))
      check("in place", [&] { return autograd::gradcheck(function(true), xs).message; });
  }

  // Results, and gradients of their sums, in one row of bytes.
  std::vector<char> bits(const ArgBlock& args) const {
    std::vector<Tensor> leaves, ends, seeds;
    const bool slopes = has_gradient();
    const ArgBlock own = changed(args, [&](const Tensor& t) {
      if (t.is_number() || !t.is_float() || !slopes) return t;
      leaves.push_back(clone(t));
      autograd::set_requires_grad(leaves.back(), true);
      return leaves.back();
    });
    const Results results = run(own);
    std::vector<Tensor> all(results.begin(), results.end());
    for (const Tensor& t : results) {
      if (!t.needs_grad() || !t.is_float()) continue;
      ends.push_back(t);
      seeds.push_back(full(t.shape(), 1, t.dtype()));
    }
    if (!ends.empty())
      for (Tensor& g : autograd::grad(ends, leaves, seeds, {.allow_unused = true}))
        if (g) all.push_back(std::move(g));
    const NoGrad quiet;
    std::vector<char> bytes;
    for (const Tensor& t : all) {
      const Tensor plain = contiguous(t);
      const char* from = static_cast<const char*>(plain.data());
      bytes.insert(bytes.end(), from, from + plain.nbytes());
    }
    return bytes;
  }

  std::string with_threads() const {
    const ThreadCount restored;
    const DeterministicMode mode;
    for (const DType d : {DType::f64, DType::f32}) {
      const ArgBlock args =
          changed(args_, [&](const Tensor& t) { return is_wide(t) ? cast(t, d) : t; });
      set_threads(1);
      const std::vector<char> alone = bits(args);
      for (const int n : {2, 4}) {
        set_threads(n);
        if (bits(args) != alone)
          return fmt::format("in {}: other bits with {} threads than with one", name(d), n);
      }
    }
    return {};
  }

  const OpInfo& op_;
  const Sample& sample_;
  ArgBlock args_;
  int number_;
  std::vector<SelftestResult>& out_;
};

}  // namespace

std::vector<SelftestResult> selftest(const OpInfo& op, const SelftestOptions& options) {
  std::vector<SelftestResult> out;
  SampleList samples;
  op.samples(samples);
  int number = 0;
  for (Sample& s : samples) SampleTest(op, s, ++number, out).run_all(options);
  if (samples.empty() && op.method)
    out.push_back({op.name, 0, "runs", false, "the op has no samples"});
  return out;
}

}  // namespace rille
