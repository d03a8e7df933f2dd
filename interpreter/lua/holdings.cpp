#include "interpreter/lua/holdings.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/node.h"
#include "core/allocator.h"
#include "core/fail.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {
namespace {

class Count {
 public:
  void add(const TensorImpl& t, bool gradient) {
    if (t.storage && seen_.insert(t.storage.get()).second) add_new(t, gradient);
  }
  std::vector<Holding> sorted() && {
    std::stable_sort(list_.begin(), list_.end(),
                     [](const Holding& a, const Holding& b) { return a.bytes > b.bytes; });
    return std::move(list_);
  }

 private:
  void add_new(const TensorImpl& t, bool gradient) {
    const auto bytes = static_cast<int64_t>(t.storage->bytes);
    for (Holding& h : list_) {
      if (h.dtype != t.dtype || h.gradient != gradient || !(h.shape == t.shape)) continue;
      ++h.count;
      h.bytes += bytes;
      return;
    }
    list_.push_back({t.dtype, t.shape, gradient, 1, bytes});
  }
  std::unordered_set<const Storage*> seen_;
  std::vector<Holding> list_;
};

std::string line(std::string_view who, int64_t bytes) {
  return fmt::format("held by      {}  {}", who, memory::size_text(bytes));
}

std::string owner(const Holding& h) {
  return fmt::format("{} x {}{}{}", h.count, name(h.dtype), to_string(h.shape),
                     h.gradient ? " gradients" : "");
}

}  // namespace

std::vector<Holding> holdings(const Interpreter& in) {
  Count count;
  in.owned.each_tensor([&](const TensorImpl& t) { count.add(t, false); });
  in.owned.each_tensor([&](const TensorImpl& t) {
    const auto* m = static_cast<const autograd::GradMeta*>(t.grad.get());
    if (m && m->grad) count.add(*m->grad.impl(), true);
  });
  return std::move(count).sorted();
}

std::vector<std::string> largest_owners(const Interpreter& in, size_t n) {
  const std::vector<Holding> all = holdings(in);
  int64_t rest = in.budget && in.budget->counts() ? in.budget->tensors() : memory::allocated();
  std::vector<std::string> lines;
  for (size_t i = 0; i < all.size() && i < n; ++i) {
    rest -= all[i].bytes;
    lines.push_back(line(owner(all[i]), all[i].bytes));
  }
  if (rest > 0) lines.push_back(line("others and the tape", rest));
  return lines;
}

}  // namespace rille::lua
