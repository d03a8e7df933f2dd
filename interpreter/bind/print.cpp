// How print shows a tensor: values cut in the middle as numpy's are, then dtype, shape and device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpreter/bind/bind.h"
#include "interpreter/bind/print.h"
#include "ops/cast.h"

namespace rille::bind {
namespace {

constexpr int64_t kEdge = 3;      // values shown at each end of a dim that is cut
constexpr int64_t kWhole = 1000;  // tensors up to this size are shown whole

class Printer {
 public:
  // Lines of at most `columns`, of any length where it is 0.
  Printer(const Tensor& t, bool cut, size_t columns) : t_(t), cut_(cut), columns_(columns) {
    std::vector<int64_t> seen;
    collect(0, 0, seen);
    choose_format(seen);
    for (const int64_t offset : seen) width_ = std::max(width_, one(offset).size());
  }

  std::string text() {
    std::string out;
    write(0, 0, 1, out);
    return out;
  }

 private:
  bool cuts(int dim) const { return cut_ && t_.shape()[dim] > 2 * kEdge; }

  template <class F>
  void each(int dim, F&& f) const {
    const int64_t n = t_.shape()[dim];
    for (int64_t i = 0; i < n; ++i) {
      if (cuts(dim) && i == kEdge) {
        i = n - kEdge;
        f(i, true);
      } else {
        f(i, false);
      }
    }
  }

  void collect(int dim, int64_t offset, std::vector<int64_t>& seen) const {
    if (dim == t_.rank()) {
      seen.push_back(offset);
      return;
    }
    each(dim, [&](int64_t i, bool) { collect(dim + 1, offset + i * t_.strides()[dim], seen); });
  }

  // Four digits after the point, or powers of ten where the values are far apart; whole numbers
  // without digits.
  void choose_format(const std::vector<int64_t>& seen) {
    if (category(t_.dtype()) != Category::floating) return;
    double low = INFINITY, high = 0;
    bool whole = true;
    for (const int64_t offset : seen) {
      const double v = t_.load(offset);
      if (!std::isfinite(v)) continue;
      whole &= v == std::trunc(v);
      if (v != 0) low = std::min(low, std::fabs(v));
      high = std::max(high, std::fabs(v));
    }
    powers_ = high > 0 && (high >= 1e8 || low < 1e-4 || high / low > 1e4 * 1e3);
    digits_ = whole && !powers_ ? 0 : 4;
  }

  // The element there. A double does not hold every integer.
  std::string one(int64_t offset) const {
    if (t_.dtype() == DType::boolean) return t_.load_int(offset) != 0 ? "true" : "false";
    if (category(t_.dtype()) != Category::floating) return fmt::format("{}", t_.load_int(offset));
    const double v = t_.load(offset);
    if (!std::isfinite(v)) return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
    if (powers_) return fmt::format("{:.4e}", v);
    return digits_ ? fmt::format("{:.{}f}", v, digits_) : fmt::format("{:.0f}.", v);
  }

  // Whether one more value, and all that closes after it, is too much for the line.
  bool full(const std::string& out) const {
    const size_t begin = out.rfind('\n') + 1;  // npos + 1 is 0
    return columns_ > 0 &&
           out.size() - begin + width_ + static_cast<size_t>(t_.rank()) + 3 > columns_;
  }

  void write(int dim, int64_t offset, size_t indent, std::string& out) const {
    if (dim == t_.rank()) {
      out += fmt::format("{:>{}}", one(offset), width_);
      return;
    }
    const bool last = dim == t_.rank() - 1;
    out += '{';
    bool first = true;
    const std::string line = "\n" + std::string(indent, ' ');
    const auto separate = [&] { out += "," + (last && !full(out) ? " " : line); };
    each(dim, [&](int64_t i, bool skipped) {
      if (!first) separate();
      if (skipped) {
        out += "...";
        separate();
      }
      write(dim + 1, offset + i * t_.strides()[dim], indent + 1, out);
      first = false;
    });
    out += '}';
  }

  const Tensor& t_;
  bool cut_, powers_ = false;
  size_t columns_;
  int digits_ = 4;
  size_t width_ = 0;
};

size_t longest_line(const std::string& text) {
  size_t longest = 0, begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find('\n', begin);
    longest = std::max(longest, std::min(end, text.size()) - begin);
  }
  return longest;
}

}  // namespace

std::string print_tensor(const Tensor& t) { return print_tensor(t, 0); }

std::string print_tensor(const Tensor& t, size_t columns) {
  std::string tail = fmt::format("{}{}", name(t.dtype()), to_string(t.shape()));
  if (t.device() != Device{}) tail += " " + to_string(t.device());
  if (t.needs_grad()) tail += " requires_grad";
  if (t.is_meta()) return tail;
  if (t.numel() == 0) return "{}  " + tail;
  std::string text = Printer(t, t.numel() > kWhole, 0).text();
  const auto too_long = [&](size_t length) { return columns > 0 && length > columns; };
  if (too_long(longest_line(text))) text = Printer(t, true, columns).text();
  const bool apart = t.rank() > 1 || too_long(text.size() + 2 + tail.size());
  return fmt::format("{}{}{}", text, apart ? "\n" : "  ", tail);
}

}  // namespace rille::bind
