// Values on their way between the host and a script.
#include "core/fail.h"
#include "interpreter/api/hosted.h"
#include "interpreter/lua/ask.h"
#include "interpreter/lua/host_function.h"

namespace rille::api {
namespace {

constexpr int kDepth = 64;

using Home = std::shared_ptr<Hosted>;

lua::Value host_function(const v1::detail::FunctionHome& f, const Home& home) {
  auto body = [host = f.host, home = std::weak_ptr(home)](lua::Call& c) {
    const Home here = home.lock();
    if (!here) throw Error(Kind::state, "E_CLOSED", "the interpreter is closing");
    std::vector<v1::Value> arguments;
    for (int i = 1; i <= c.count(); ++i) arguments.push_back(host_value(c.value(i), here));
    std::vector<v1::Value> results;
    call_host([&] { results = host(arguments); });
    for (const v1::Value& result : results) c.give(script_value(result, here));
  };
  return lua::ObjectRef(std::make_shared<lua::HostFunction>(f.name, std::move(body)));
}

lua::Value function_value(const v1::Function& f, const Home& home) {
  const v1::detail::FunctionHome& from = *v1::detail::FunctionAccess::home(f);
  if (!from.script) return host_function(from, home);
  if (!from.script->belongs_to(home->in))
    throw arg_error("a function of one interpreter can't be given to another")
        .hint("give both a C++ function, which calls it");
  return from.script;
}

lua::Value read(const v1::Value& v, const Home& home, int depth);

lua::Value table_value(const v1::Table& from, const Home& home, int depth) {
  if (depth > kDepth) throw arg_error("tables are nested more than {} deep", kDepth);
  lua::Table t;
  t.list.reserve(from.list.size());
  for (const v1::Value& one : from.list) t.list.push_back(read(one, home, depth + 1));
  for (const auto& [key, one] : from.named) t.named.emplace(key, read(one, home, depth + 1));
  return t;
}

lua::Value read(const v1::Value& v, const Home& home, int depth) {
  switch (v.type()) {
    case v1::Value::Type::nil: return {};
    case v1::Value::Type::boolean: return *v.boolean();
    case v1::Value::Type::integer: return *v.integer();
    case v1::Value::Type::number: return *v.number();
    case v1::Value::Type::string: return *v.string();
    case v1::Value::Type::function: return function_value(*v.function(), home);
    case v1::Value::Type::table: return table_value(*v.table(), home, depth);
    case v1::Value::Type::tensor: break;
  }
  Tensor t = tensor_of(*v.tensor());
  // The collector knows of what the script makes; this is one more that a box of Lua's keeps alive.
  home->in.context.allocated_since_collect += t.nbytes();
  return t;
}

}  // namespace

// No error of Lua's comes this way: what the host may call in here runs scripts in protected mode,
// so everything may be caught.
void call_host(const std::function<void()>& f) {
  try {
    f();
  } catch (const v1::Error& e) {
    throw engine_error(e);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw HostThrew(std::current_exception(), e.what());
  } catch (...) {
    throw HostThrew(std::current_exception(), "the host threw what is no std::exception");
  }
}

lua::Value script_value(const v1::Value& v, const Home& home) { return read(v, home, 0); }

std::vector<lua::Value> script_values(std::span<const v1::Value> list, const Home& home) {
  std::vector<lua::Value> out;
  out.reserve(list.size());
  for (const v1::Value& v : list) out.push_back(script_value(v, home));
  return out;
}

v1::Value host_value(const lua::Value& v, const Home& home) {
  if (v.is_nil()) return {};
  if (const auto* b = v.get<bool>()) return *b;
  if (const auto* n = v.get<int64_t>()) return *n;
  if (const auto* n = v.get<double>()) return *n;
  if (const auto* s = v.get<std::string>()) return *s;
  if (const auto* t = v.get<Tensor>()) return handle_of(*t);
  if (const auto* f = v.get<lua::CallbackRef>())
    return v1::detail::FunctionAccess::make({home, *f, {}, {}});
  const lua::Table* from = v.table();
  if (!from)
    throw type_error("an object of Rille's can't leave the script")
        .hint("tensors, tables, functions, strings, numbers and booleans can");
  v1::Table t;
  t.list.reserve(from->list.size());
  for (const lua::Value& one : from->list) t.list.push_back(host_value(one, home));
  for (const auto& [key, one] : from->named) t.named.emplace(key, host_value(one, home));
  return t;
}

std::vector<v1::Value> host_values(const std::vector<lua::Value>& list, const Home& home) {
  std::vector<v1::Value> out;
  out.reserve(list.size());
  for (const lua::Value& v : list) out.push_back(host_value(v, home));
  return out;
}

}  // namespace rille::api

namespace rille::v1 {

Function::Function(HostFunction body, std::string name)
    : home_(std::make_shared<const detail::FunctionHome>(
          detail::FunctionHome{{}, nullptr, std::move(body), std::move(name)})) {
  if (!home_->host) home_ = nullptr;
}

std::vector<Value> Function::call(std::span<const Value> arguments) const {
  if (!home_)
    throw Error(ErrorKind::argument, "E_TYPE", "there is no function to call",
                "the value was nil, or the Function never got one");
  if (!home_->script) return home_->host(arguments);
  return api::guarded("", [&] {
    const api::Entry entry(home_->owner.lock());
    const std::vector<lua::Value> given = api::script_values(arguments, entry.hosted());
    return api::host_values(lua::ask_call(entry.in(), *home_->script, given), entry.hosted());
  });
}

Value::Value(Table t) : v_(std::make_shared<Table>(std::move(t))) {}

Table& Value::edit() {
  auto* t = std::get_if<std::shared_ptr<Table>>(&v_);
  if (!t)
    throw Error(ErrorKind::argument, "E_TYPE",
                "a table is needed, got " + std::string(kind_of(*this)));
  if (t->use_count() > 1) *t = std::make_shared<Table>(**t);
  return **t;
}

const Value& Value::operator[](std::string_view key) const noexcept {
  static const Value& nil = *new Value;  // never destroyed
  const Table* t = table();
  if (!t) return nil;
  const auto it = t->named.find(key);
  return it == t->named.end() ? nil : it->second;
}

const Value& Value::at(size_t position) const noexcept {
  static const Value& nil = *new Value;  // never destroyed
  const Table* t = table();
  return t && position >= 1 && position <= t->list.size() ? t->list[position - 1] : nil;
}

std::string_view kind_of(const Value& v) {
  constexpr std::string_view kinds[] = {"nil",      "a boolean", "an integer", "a number",
                                        "a string", "a tensor",  "a table",    "a function"};
  return kinds[static_cast<size_t>(v.type())];
}

}  // namespace rille::v1
