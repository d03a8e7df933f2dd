#include "interpreter/bind/selection.h"

#include <algorithm>
#include <cstdlib>

#include "autograd/policies.h"
#include "core/fail.h"
#include "ops/op_info.h"

namespace rille::bind {
namespace {

using autograd::Keep;
using autograd::KernelRun;
using autograd::Policy;
using lua::CallbackRef;

// ---- the policies
// -------------------------------------------------------------------------------

class PlainPolicy final : public SelectionPolicy {
 public:
  explicit PlainPolicy(std::function<Policy()> maker) : maker_(std::move(maker)) {}
  Policy make() override { return maker_(); }

 private:
  std::function<Policy()> maker_;
};

// policy({ op, within, bytes, flops, seconds, output, index, line }, op) -> word
class ScriptPolicy final : public SelectionPolicy {
 public:
  explicit ScriptPolicy(CallbackRef function) : function_(std::move(function)) {}
  Policy make() override {
    return [f = function_](const KernelRun& k) {
      const FlagScope unseen(kGrad | kSavedHooks | kListeners, false);
      const std::vector<Value> said = (*f)({shown(k), Value(k.op)});
      return understood(said.empty() ? Value() : said[0], k);
    };
  }

 private:
  static Table shown(const KernelRun& k) {
    Table t, within;
    for (const char* op : k.within) within.list.emplace_back(op);
    const Site at = Context::current().site();
    t.named.emplace("op", k.op);
    t.named.emplace("within", within);
    t.named.emplace("index", static_cast<int64_t>(k.index) + 1);
    t.named.emplace("bytes", k.bytes);
    t.named.emplace("flops", k.flops);
    t.named.emplace("seconds", k.seconds);
    if (k.result) t.named.emplace("output", autograd::bare(*k.result));
    if (at.source) t.named.emplace("line", autograd::text_of(at));
    return t;
  }
  static Keep understood(const Value& said, const KernelRun& k) {
    constexpr std::pair<std::string_view, Keep> words[] = {
        {"must_save", Keep::save},           {"prefer_save", Keep::save},
        {"must_recompute", Keep::recompute}, {"prefer_recompute", Keep::recompute},
        {"must_offload", Keep::offload},     {"prefer_offload", Keep::offload}};
    const auto* text = said.get<std::string>();
    for (const auto& [word, keep] : words)
      if (text && *text == word) return keep;
    throw arg_error(
        "the policy must return 'must_save', 'must_recompute' or 'must_offload', got {}",
        text ? "'" + *text + "'" : "another value")
        .fact("or the same words with 'prefer'")
        .op("checkpointer");
  }
  CallbackRef function_;
};

// Saves what a plan says, by the kernels' numbers, and notes what each kernel took.
class PlannedPolicy final : public SelectionPolicy {
 public:
  explicit PlannedPolicy(std::vector<bool> saved) : saved_(std::move(saved)) {}
  Policy make() override {
    return [saved = saved_, notes = notes_](const KernelRun& k) {
      const Site at = Context::current().site();
      notes->push_back({k.op, at, k.flops, k.seconds, k.bytes});
      return k.index < saved.size() && saved[k.index] ? Keep::save : Keep::recompute;
    };
  }
  Table notes() const {
    Table list;
    for (const Note& n : *notes_) {
      Table t;
      t.named.emplace("op", n.op);
      if (n.at.source) t.named.emplace("line", autograd::text_of(n.at));
      t.named.emplace("flops", n.flops);
      t.named.emplace("seconds", n.seconds);
      t.named.emplace("bytes", n.bytes);
      list.list.emplace_back(t);
    }
    return list;
  }

 private:
  struct Note {
    const char* op;
    Site at;
    double flops, seconds;
    int64_t bytes;
  };
  std::vector<bool> saved_;
  std::shared_ptr<std::vector<Note>> notes_ = std::make_shared<std::vector<Note>>();
};

// ---- natives
// ------------------------------------------------------------------------------------

// An op that scripts or the library know.
std::vector<std::string> op_names(Call& c, int i, std::string_view key) {
  std::vector<std::string> names;
  const Value v = c.option(i, key);
  if (v.is_nil()) return names;
  if (!v.table()) throw type_error("'{}' must be a list of ops", key).op("checkpointer");
  for (const Value& one : v.table()->list) {
    const auto* name = one.get<std::string>();
    if (!name || !find_op(*name))
      throw arg_error("there is no op '{}'", name ? *name : "?").op("checkpointer");
    names.push_back(*name);
  }
  return names;
}

std::vector<bool> booleans(const Value& v) {
  std::vector<bool> list;
  if (v.table())
    for (const Value& one : v.table()->list) list.push_back(one.get<bool>() && *one.get<bool>());
  return list;
}

// native.selection({ save, recompute, offload }), native.selection("cheap" | "alternate_mm"),
// native.selection(function), native.selection("plan", { true, false, ... }) -> a policy
void selection(Call& c) {
  using Made = lua::ObjectRef;
  if (c.is_function(1))
    return c.give(Made(std::make_shared<ScriptPolicy>(c.function(1, "policy"))));
  if (c.is_table(1)) {
    const autograd::NamedOps ops{op_names(c, 1, "save"), op_names(c, 1, "recompute"),
                                 op_names(c, 1, "offload")};
    return c.give(Made(std::make_shared<PlainPolicy>([ops] { return named_policy(ops); })));
  }
  const std::string word = c.string(1, "policy");
  if (word == "plan") return c.give(Made(std::make_shared<PlannedPolicy>(booleans(c.value(2)))));
  c.give(Made(std::make_shared<PlainPolicy>(
      word == "cheap" ? autograd::cheap_policy : autograd::alternate_products_policy)));
}

// planned:kernels() -> what each kernel of the block's first run took
void kernels(Call& c) { c.give(c.object<PlannedPolicy>(1, "self")->notes()); }

// policy:figures() -> { kept, inputs, tape, seconds }: bytes that the block keeps, those of its
// inputs among them, bytes that the tape would keep without it, and seconds of its second run.
void figures(Call& c) {
  const auto figures = c.object<SelectionPolicy>(1, "self")->figures();
  if (!figures) return;
  Table t;
  t.named.emplace("kept", figures->kept);
  t.named.emplace("inputs", figures->inputs);
  t.named.emplace("tape", figures->tape);
  t.named.emplace("seconds", figures->second_run);
  c.give(t);
}

class SpillObject final : public lua::Object {
 public:
  explicit SpillObject(const std::string& folder) : file(std::make_shared<SpillFile>(folder)) {}
  std::string_view type() const override { return "rille.native.SpillFile"; }
  const std::shared_ptr<SpillFile> file;
};

// native.spill_file([folder]) -> where offloaded values go
void spill_file(Call& c) {
  const char* temporary = std::getenv("TMPDIR");
  const std::string otherwise = temporary && *temporary ? temporary : "/tmp";
  c.give(
      lua::ObjectRef(std::make_shared<SpillObject>(c.has(1) ? c.string(1, "folder") : otherwise)));
}

template <class T>
std::shared_ptr<T> object_option(Call& c, int i, std::string_view key) {
  const Value v = c.option(i, key);
  const auto* o = v.get<lua::ObjectRef>();
  return o ? std::dynamic_pointer_cast<T>(*o) : nullptr;
}

}  // namespace

std::shared_ptr<SelectionPolicy> policy_option(Call& c, int i) {
  return object_option<SelectionPolicy>(c, i, "policy");
}
std::shared_ptr<SpillFile> spill_option(Call& c, int i) {
  const auto o = object_option<SpillObject>(c, i, "spill");
  return o ? o->file : nullptr;
}

void bind_selection(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"selection", selection}};
  lua::define_functions(in, "rille.native", natives);
  static constexpr NativeEntry outside[] = {{"spill_file", spill_file}};
  lua::define_outside(in, "rille.native", outside);
  static constexpr NativeEntry methods[] = {{"kernels", kernels}, {"figures", figures}};
  lua::define_class(in, "rille.native.Selection", methods);
  lua::define_class(in, "rille.native.SpillFile", {});
}

}  // namespace rille::bind
