#include "interpreter/lua/holdings.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/node.h"
#include "core/allocator.h"
#include "core/blocks.h"
#include "core/fail.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {
namespace {

class Count {
 public:
  void add(const TensorImpl& t, bool gradient) {
    const Storage* s = t.storage.get();
    if (!s || !seen_.insert(s).second) return;
    add({t.dtype, t.shape, gradient, false, s->made_by, s->made_at, 1,
         static_cast<int64_t>(s->bytes)});
  }
  // One of a script's tensors has been counted by its dtype and shape.
  void add(const memory::Block& b) {
    if (seen_.insert(b.storage).second)
      add({DType::f32, {}, false, true, b.made_by, b.made_at, 1, b.bytes});
  }
  std::vector<Holding> sorted() && {
    std::stable_sort(list_.begin(), list_.end(),
                     [](const Holding& a, const Holding& b) { return a.bytes > b.bytes; });
    return std::move(list_);
  }

 private:
  static bool alike(const Holding& a, const Holding& b) {
    return a.dtype == b.dtype && a.gradient == b.gradient && a.of_tape == b.of_tape &&
           a.op == b.op && a.at.source == b.at.source && a.at.line == b.at.line &&
           a.shape == b.shape;
  }
  void add(Holding one) {
    for (Holding& h : list_) {
      if (!alike(h, one)) continue;
      ++h.count;
      h.bytes += one.bytes;
      return;
    }
    list_.push_back(std::move(one));
  }
  std::unordered_set<const Storage*> seen_;
  std::vector<Holding> list_;
};

std::string owner(const Holding& h) {
  if (h.of_tape) return fmt::format("{} of the tape", h.count);
  return fmt::format("{} x {}{}{}", h.count, name(h.dtype), to_string(h.shape),
                     h.gradient ? " gradients" : "");
}

// "zeros train.lua:3", or what is known of that.
std::string maker(const Holding& h) {
  std::string text = h.op ? h.op : "";
  if (h.at.source) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", h.at.source, h.at.line);
  return text;
}

struct Line {
  std::string owner, size, maker;
};

std::vector<std::string> aligned(const std::vector<Line>& lines) {
  size_t owner = 0, size = 0;
  for (const Line& l : lines) {
    owner = std::max(owner, l.owner.size());
    size = std::max(size, l.size.size());
  }
  std::vector<std::string> out;
  for (const Line& l : lines)
    out.push_back(fmt::format("held by      {:<{}}  {:>{}}{}{}", l.owner, owner, l.size, size,
                              l.maker.empty() ? "" : "  ", l.maker));
  return out;
}

}  // namespace

std::vector<Holding> holdings(const Interpreter& in) {
  Count count;
  in.owned.each_tensor([&](const TensorImpl& t) { count.add(t, false); });
  in.owned.each_tensor([&](const TensorImpl& t) {
    const auto* m = static_cast<const autograd::GradMeta*>(t.grad.get());
    if (m && m->grad) count.add(*m->grad.impl(), true);
  });
  for (const memory::Block& b : memory::live_blocks(in.context)) count.add(b);
  return std::move(count).sorted();
}

std::vector<std::string> largest_owners(const Interpreter& in, size_t n) {
  const std::vector<Holding> all = holdings(in);
  int64_t rest = in.budget && in.budget->counts() ? in.budget->tensors() : memory::allocated();
  std::vector<Line> lines;
  for (size_t i = 0; i < all.size() && i < n; ++i) {
    rest -= all[i].bytes;
    lines.push_back({owner(all[i]), memory::size_text(all[i].bytes), maker(all[i])});
  }
  if (rest > 0) lines.push_back({"others and the tape", memory::size_text(rest), {}});
  return aligned(lines);
}

}  // namespace rille::lua
