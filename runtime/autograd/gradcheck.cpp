#include "autograd/gradcheck.h"

#include <cmath>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "core/context.h"
#include "core/fail.h"

namespace rille::autograd {
namespace {

// Where a row-major position lies in the memory of `t`.
double& element(const Tensor& t, int64_t position) {
  int64_t at = 0;
  for (int d = t.rank() - 1; d >= 0; --d) {
    at += position % t.shape()[d] * t.strides()[d];
    position /= t.shape()[d];
  }
  return t.data_as<double>()[at];
}

// The position as a script counts: "[2, 1]".
std::string index_text(const Tensor& t, int64_t position) {
  Dims at = t.shape();
  for (int d = t.rank() - 1; d >= 0; --d) {
    at[d] = position % t.shape()[d] + 1;
    position /= t.shape()[d];
  }
  return to_string(at);
}

// Values in [-1, 1] that look random and never change.
class Scatter {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<int64_t>(state_) >> 11) * 0x1p-52;
  }
  Tensor like(const Tensor& t) {
    Tensor out = Tensor::empty(t.shape(), DType::f64);
    for (int64_t i = 0; i < out.numel(); ++i) element(out, i) = next();
    return out;
  }

 private:
  uint64_t state_ = 20;
};

// A leaf of its own memory, with the layout of `t` where that has no holes.
Tensor own_leaf(const Tensor& t) {
  Tensor leaf = Tensor::empty(like(t));
  for (int64_t i = 0; i < t.numel(); ++i) element(leaf, i) = t.at(i);
  set_requires_grad(leaf, true);
  return leaf;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.numel(); ++i) sum += a.at(i) * b.at(i);
  return sum;
}

class Check {
 public:
  Check(const TensorFunction& fn, const std::vector<Tensor>& inputs,
        const GradcheckOptions& options)
      : fn_(fn), options_(options), inputs_(inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].needs_grad()) continue;
      if (inputs[i].dtype() != DType::f64)
        throw dtype_error("input {} must be f64, got {}", i + 1, name(inputs[i].dtype()))
            .hint("finite differences drown in the rounding of narrower floats: use x:to \"f64\"")
            .op("gradcheck");
      inputs_[i] = own_leaf(inputs[i]);
      active_.push_back(i);
    }
    if (active_.empty()) throw arg_error("no input requires a gradient").op("gradcheck");
  }

  GradcheckResult run() {
    const EnableGrad on;
    const std::vector<Tensor> ys = fn_(inputs_);
    for (size_t o = 0; o < ys.size(); ++o)
      if (ys[o].is_float()) options_.fast ? along_one_direction(ys[o], o) : every_element(ys[o], o);
    return std::move(result_);
  }

 private:
  std::vector<Tensor> analytic(const Tensor& y, const Tensor& seed) const {
    std::vector<Tensor> leaves;
    for (const size_t i : active_) leaves.push_back(inputs_[i]);
    if (!y.needs_grad()) return std::vector<Tensor>(leaves.size());
    return grad({&y, 1}, leaves, {&seed, 1}, {.retain_graph = true, .allow_unused = true});
  }

  std::vector<double> values(size_t output) const { return fn_(inputs_)[output].to_vector(); }

  // d(output)/d(one element), for every element of the output.
  std::vector<double> numeric_column(size_t output, double& x) const {
    const double before = x;
    x = before + options_.eps;
    std::vector<double> up = values(output);
    x = before - options_.eps;
    const std::vector<double> down = values(output);
    x = before;
    for (size_t i = 0; i < up.size(); ++i) up[i] = (up[i] - down[i]) / (2 * options_.eps);
    return up;
  }

  void every_element(const Tensor& y, size_t output) {
    std::vector<std::vector<Tensor>> rows;  // [element of y][active input]
    for (int64_t k = 0; k < y.numel(); ++k) {
      Tensor seed = engine_ops().zeros_like(y);
      store_element(y.dtype(),
                    static_cast<char*>(seed.data()) + k * static_cast<int64_t>(size_of(y.dtype())),
                    1);
      rows.push_back(analytic(y, seed));
      repeat(y, seed, rows.back(), output);
    }
    for (size_t a = 0; a < active_.size(); ++a) {
      const Tensor& x = inputs_[active_[a]];
      for (int64_t j = 0; j < x.numel(); ++j) {
        const std::vector<double> column = numeric_column(output, element(x, j));
        for (int64_t k = 0; k < y.numel(); ++k) {
          const Tensor& dx = rows[static_cast<size_t>(k)][a];
          const double numeric = column[static_cast<size_t>(k)];
          compare(dx ? dx.at(j) : 0, numeric, [&] {
            return fmt::format("input {} element {}, output {} element {}", active_[a] + 1,
                               index_text(x, j), output + 1, index_text(y, k));
          });
        }
      }
    }
  }

  // u' J v with random u and v: one backward pass and two forward ones an input.
  void along_one_direction(const Tensor& y, size_t output) {
    Scatter scatter;
    const Tensor u = scatter.like(y);
    const std::vector<Tensor> dxs = analytic(y, u);
    repeat(y, u, dxs, output);
    for (size_t a = 0; a < active_.size(); ++a) {
      const Tensor& x = inputs_[active_[a]];
      const Tensor v = scatter.like(x);
      const std::vector<double> before = x.to_vector();
      auto step = [&](double by) {
        for (int64_t j = 0; j < x.numel(); ++j)
          element(x, j) = before[static_cast<size_t>(j)] + by * v.at(j);
        return Tensor::of(values(output), y.shape(), DType::f64);
      };
      const double up = dot(step(options_.eps), u), down = dot(step(-options_.eps), u);
      step(0);
      compare(dxs[a] ? dot(dxs[a], v) : 0, (up - down) / (2 * options_.eps), [&] {
        return fmt::format("input {}, output {}, along a random direction", active_[a] + 1,
                           output + 1);
      });
    }
  }

  // A second backward pass must give the same.
  void repeat(const Tensor& y, const Tensor& seed, const std::vector<Tensor>& first,
              size_t output) {
    const std::vector<Tensor> second = analytic(y, seed);
    for (size_t a = 0; a < first.size(); ++a) {
      if (!first[a]) continue;
      for (int64_t j = 0; j < first[a].numel(); ++j) {
        const double p = first[a].at(j), q = second[a].at(j);
        if (std::abs(p - q) > options_.nondet_tol)
          fail_with(std::abs(p - q),
                    fmt::format("two backward passes differ: input {}, output {}: {:g} and {:g}",
                                active_[a] + 1, output + 1, p, q));
      }
    }
  }

  template <class Where>
  void compare(double analytic, double numeric, Where&& where) {
    ++result_.compared;
    const double off = std::abs(analytic - numeric);
    if (off <= options_.atol + options_.rtol * std::abs(numeric) || analytic == numeric) return;
    fail_with(off, fmt::format("{}: analytic {:.8g}, numeric {:.8g}", where(), analytic, numeric));
  }

  void fail_with(double off, std::string message) {
    if (!result_.passed && !(off > worst_)) return;
    worst_ = std::isnan(off) ? HUGE_VAL : off;
    result_.passed = false;
    result_.message = std::move(message);
  }

  const TensorFunction& fn_;
  const GradcheckOptions options_;
  std::vector<Tensor> inputs_;
  std::vector<size_t> active_;  // inputs whose gradients are checked
  GradcheckResult result_;
  double worst_ = 0;
};

// What a gradient can flow into: float results that depend on an input that requires one.
std::vector<Tensor> on_the_tape(const std::vector<Tensor>& ys) {
  std::vector<Tensor> out;
  for (const Tensor& y : ys)
    if (y.is_float() && y.needs_grad()) out.push_back(y);
  return out;
}

}  // namespace

GradcheckResult gradcheck(const TensorFunction& fn, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  return Check(fn, inputs, options).run();
}

GradcheckResult gradgradcheck(const TensorFunction& fn, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options) {
  const EnableGrad on;
  const size_t n = inputs.size();
  std::vector<Tensor> all = inputs;
  Scatter scatter;
  for (const Tensor& y : on_the_tape(fn(inputs))) {
    all.push_back(scatter.like(y));
    set_requires_grad(all.back(), true);
  }
  // (inputs, gradients of the results) -> gradients of the inputs.
  const TensorFunction gradients = [&](const std::vector<Tensor>& given) {
    const std::vector<Tensor> xs(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(n));
    const std::vector<Tensor> dys(given.begin() + static_cast<std::ptrdiff_t>(n), given.end());
    std::vector<Tensor> active;
    for (const Tensor& x : xs)
      if (x.needs_grad()) active.push_back(x);
    std::vector<Tensor> dxs =
        grad(on_the_tape(fn(xs)), active, dys, {.create_graph = true, .allow_unused = true});
    for (size_t i = 0; i < dxs.size(); ++i)
      if (!dxs[i]) dxs[i] = engine_ops().zeros_like(active[i]);
    return dxs;
  };
  return gradcheck(gradients, all, options);
}

}  // namespace rille::autograd
