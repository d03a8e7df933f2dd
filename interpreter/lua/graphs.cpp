#include "interpreter/lua/graphs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autograd/node.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {
namespace {

using autograd::Node;

class Walk {
 public:
  explicit Walk(const std::vector<uint64_t>& marks) : marks_(marks) {}

  // A tensor that the script holds.
  void root(const TensorImpl& t) {
    const auto* m = static_cast<const autograd::GradMeta*>(t.grad.get());
    if (!m || !m->fn) return;
    const Node* node = m->fn.get();
    if (is_old(*node)) count(*node, nullptr);
    visit(node);
    while (!stack_.empty()) {
      const Node* n = stack_.back();
      stack_.pop_back();
      for (const autograd::Edge& e : n->next)
        if (e && !e.node->is_leaf()) visit(e.node.get());
    }
  }
  Graphs found() && {
    count_uses();
    std::stable_sort(all_.keepers.begin(), all_.keepers.end(),
                     [](const Keeper& a, const Keeper& b) { return a.count > b.count; });
    return std::move(all_);
  }

 private:
  // 0: before the first mark.
  size_t step_of(const Node& n) const {
    const auto after = std::lower_bound(marks_.begin(), marks_.end(), n.seq);
    return static_cast<size_t>(after - marks_.begin());
  }
  bool is_old(const Node& n) const {
    const size_t step = step_of(n);
    return step > 0 && step + 1 < marks_.size();
  }
  void visit(const Node* n) {
    if (!seen_.insert(n).second) return;
    all_.old += is_old(*n);
    stack_.push_back(n);
  }
  // Results of earlier steps that are used in later ones, and carry what is older still along: with
  // total + loss it is the total that does, not the loss. Inputs come before outputs in seq.
  void count_uses() {
    std::vector<const Node*> order(seen_.begin(), seen_.end());
    std::sort(order.begin(), order.end(),
              [](const Node* a, const Node* b) { return a->seq < b->seq; });
    std::unordered_map<const Node*, size_t> oldest;  // step that its inputs reach back to
    for (const Node* n : order) {
      const size_t step = step_of(*n);
      size_t reach = step;
      for (const autograd::Edge& e : n->next) {
        const auto from = oldest.find(e.node.get());
        if (from == oldest.end() || from->second == 0) continue;
        reach = std::min(reach, from->second);
        const size_t made = step_of(*from->first);
        if (made < step && from->second < made) count(*from->first, n);
      }
      oldest.emplace(n, reach);
    }
  }
  void count(const Node& of, const Node* user) {
    const Site used_at = user ? user->site : Site{};
    for (Keeper& k : all_.keepers) {
      if (k.op != of.name() || k.at.source != of.site.source || k.at.line != of.site.line ||
          k.used_by != (user ? user->name() : std::string_view()) ||
          k.used_at.source != used_at.source || k.used_at.line != used_at.line)
        continue;
      ++k.count;
      return;
    }
    all_.keepers.push_back(
        {std::string(of.name()), std::string(user ? user->name() : ""), of.site, used_at, 1});
  }

  const std::vector<uint64_t>& marks_;
  std::unordered_set<const Node*> seen_;
  std::vector<const Node*> stack_;
  Graphs all_;
};

}  // namespace

Graphs graphs(const Interpreter& in, const std::vector<uint64_t>& marks) {
  Walk walk(marks);
  in.owned.each_tensor([&](const TensorImpl& t) { walk.root(t); });
  return std::move(walk).found();
}

}  // namespace rille::lua
