// Autocast for scripts: what its scopes are made of. The scopes themselves are Lua
// (stdlib/rille/amp/autocast.lua), and switch the mode "autocast" as others switch theirs.
#include "amp/autocast.h"

#include "amp/explain.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/named.h"

namespace rille::bind {
namespace {

std::optional<DType> dtype_at(Call& c, int i) {
  const auto text = c.text_option(i, "dtype");
  if (!text) return {};
  return dtype_of(*text);
}

std::vector<std::pair<std::string, std::string>> rules_at(Call& c, int i) {
  std::vector<std::pair<std::string, std::string>> rules;
  const Value given = c.option(i, "rules");
  if (given.is_nil()) return rules;
  const Table* table = given.table();
  if (!table || !table->list.empty())
    throw type_error("'rules' must be a table of policies by the names of ops");
  for (const auto& [op, policy] : table->named) {
    const auto* text = policy.get<std::string>();
    if (!text) throw type_error("the rule for '{}' must be a string", op);
    rules.emplace_back(op, *text);
  }
  return rules;
}

// native.autocast_inside(options) -> what native.mode("autocast") is inside of such a scope, and a
// warning or nil
void autocast_inside(Call& c) {
  named("autocast", [&] {
    amp::AutocastOptions o;
    o.device = c.text_option(1, "device").value_or(o.device);
    o.dtype = dtype_at(c, 1);
    o.enabled = c.flag_option(1, "enabled", true);
    o.cache = c.flag_option(1, "cache", true);
    o.lenient = c.flag_option(1, "lenient");
    o.lists = amp::lists_named(c.text_option(1, "policy").value_or("cuda"));
    o.rules = rules_at(c, 1);
    const amp::EnteredMode in = amp::entered(o, autocast_mode(c.context().flags));
    c.give(static_cast<int64_t>(autocast_bits(in.mode)));
    if (!in.warning.empty()) c.give(in.warning);
  });
}

// native.autocast_active(device) -> whether ops of the device are cast, and to what
void autocast_active(Call& c) {
  named("autocast.active", [&] {
    const DeviceType type = amp::device_type(c.string(1, "device"));
    const uint32_t flags = c.context().flags;
    const AutocastDevice& d = autocast_mode(flags).devices[static_cast<size_t>(type)];
    const bool active = (flags & kAutocast) && d.enabled;
    c.give(active);
    if (active) c.give(name(d.dtype));
  });
}

// native.autocast_available(device[, dtype]) -> boolean, reason
void autocast_available(Call& c) {
  named("is_available", [&] {
    std::optional<DType> dtype;
    if (c.has(2)) dtype = dtype_of(c.string(2, "dtype"));
    const amp::Availability a = amp::is_available(c.string(1, "device"), dtype);
    c.give(a.available);
    if (!a.reason.empty()) c.give(a.reason);
  });
}

// native.autocast_counts() -> casts made on this thread, those of them that were kept, and how
// often one that was kept served
void autocast_counts(Call& c) {
  const AutocastCounts n = rille::autocast_counts();
  c.give(static_cast<int64_t>(n.casts));
  c.give(static_cast<int64_t>(n.weights));
  c.give(static_cast<int64_t>(n.reused));
}

// ---- explain
// -------------------------------------------------------------------------------------

class Watch final : public lua::Object {
 public:
  static constexpr std::string_view kType = "rille.autocast_watch", kWhat = "a watch of autocast";
  std::string_view type() const override { return kType; }
  std::optional<amp::Explanation> explanation{std::in_place};
};

// native.watch_autocast() -> an object that sees every call until watch:stop()
void watch(Call& c) { c.give(lua::ObjectRef(std::make_shared<Watch>())); }

// watch:stop() -> { { op, where, arguments, result, policy, why }, ... }
void stop(Call& c) {
  const auto w = c.object<Watch>(1, "self");
  Table list;
  if (w->explanation)
    for (const amp::ExplainedCall& call : w->explanation->calls()) {
      Table t;
      t.named["op"] = call.op;
      t.named["where"] =
          call.site.source ? fmt::format("{}:{}", call.site.source, call.site.line) : "?";
      t.named["arguments"] = call.arguments;
      t.named["result"] = call.result;
      t.named["policy"] = call.policy;
      t.named["why"] = call.why;
      list.list.emplace_back(std::move(t));
    }
  w->explanation.reset();
  c.give(std::move(list));
}

}  // namespace

void bind_autocast(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"autocast_inside", autocast_inside},
                                            {"autocast_active", autocast_active},
                                            {"autocast_available", autocast_available},
                                            {"autocast_counts", autocast_counts},
                                            {"watch_autocast", watch}};
  lua::define_functions(in, "rille.native", natives);
  static constexpr NativeEntry methods[] = {{"stop", stop}};
  lua::define_class(in, Watch::kType, methods);
}

}  // namespace rille::bind
