#include "rille/interpreter.hpp"

#include <type_traits>

#include "core/fail.h"
#include "interpreter/api/hosted.h"
#include "interpreter/lua/ask.h"
#include "interpreter/lua/open.h"

namespace rille::v1 {

using api::Entry;

namespace {

// Runs `f`; its error becomes the result's.
template <class F>
auto result_of(F&& f) -> Result<std::invoke_result_t<F>> {
  using T = std::invoke_result_t<F>;
  try {
    if constexpr (std::is_void_v<T>) {
      api::guarded("", std::forward<F>(f));
      return {};
    } else {
      return api::guarded("", std::forward<F>(f));
    }
  } catch (const Error& e) {
    return e;
  }
}

// os.exit(0) is a script's way to end well.
void run(const lua::Run& chunk) {
  int status = 0;
  try {
    status = lua::ask_run(*chunk.in, chunk);
  } catch (const lua::ScriptError& e) {
    if (e.kind == "exit" && e.status == 0) return;
    throw;
  }
  if (status != 0)
    throw rille::Error(Kind::state, "E_EXIT",
                       fmt::format("the recipe ended with status {}", status));
}

// A part that is empty names nothing.
void check_name(std::string_view name) {
  const bool good =
      !name.empty() && name.front() != '.' && name.back() != '.' && name.find("..") == name.npos;
  if (!good)
    throw arg_error("'{}' is no name such as 'weights' or 'game.score'", name).op("Interpreter");
}

}  // namespace

Interpreter::Interpreter(Options options)
    : state_(api::guarded("Interpreter",
                          [&] { return std::make_shared<detail::Hosted>(std::move(options)); })) {}

Interpreter& Interpreter::operator=(Interpreter&& other) noexcept {
  if (this != &other) {
    let_go();
    state_ = std::move(other.state_);
  }
  return *this;
}

Interpreter::~Interpreter() { let_go(); }

// Whoever else holds it is inside.
void Interpreter::let_go() noexcept {
  if (state_ && state_.use_count() > 1) interrupt();
  state_ = nullptr;
}

void Interpreter::close() {
  api::guarded("close", [&] {
    if (!state_ || !state_->in.L) return;
    lua::Gate& gate = *state_->in.gate;
    gate.enter();
    if (gate.depth() > 1) {
      gate.leave();
      throw rille::Error(Kind::state, "E_BUSY", "a run is under way, and this came from inside it");
    }
    lua::close_state(state_->in);
  });
}

Result<void> Interpreter::run_file(const std::string& path, const std::vector<std::string>& args) {
  return result_of([&] {
    const Entry entry(state_);
    std::string text;
    if (const char* problem = lua::read_whole(path, text))
      throw rille::Error(Kind::data, "E_IO", fmt::format("can't read '{}': {}", path, problem))
          .op("run_file");
    const std::string source = lua::without_shebang(std::move(text));
    const bool stranger = entry.in().policy.sandbox;  // who learns no names of folders
    const std::string chunk = "@" + (stranger ? path.substr(path.rfind('/') + 1) : path);
    if (stranger) entry.in().sources.keep(chunk, source);
    run({&entry.in(), &source, &chunk, &path, &args});
  });
}

Result<void> Interpreter::run_string(std::string_view code, std::string_view chunk,
                                     const std::vector<std::string>& args) {
  return result_of([&] {
    const Entry entry(state_);
    const std::string name = "=" + std::string(chunk);
    entry.in().sources.keep(name, std::string(code));
    const std::string source = lua::without_shebang(std::string(code));
    run({&entry.in(), &source, &name, nullptr, &args});
  });
}

Result<Value> Interpreter::call_values(std::string_view name, const std::vector<Value>& arguments) {
  return result_of([&]() -> Value {
    const Entry entry(state_);
    check_name(name);
    const std::vector<lua::Value> given = api::script_values(arguments, entry.hosted());
    const std::vector<lua::Value> results = lua::ask_call(entry.in(), name, given);
    return results.empty() ? Value() : api::host_value(results.front(), entry.hosted());
  });
}

// A signal handler may be in the middle of anything: one store, and nothing that locks or
// allocates.
static_assert(decltype(lua::Interpreter::stop_requested)::is_always_lock_free);

void Interpreter::interrupt() noexcept {
  if (state_) lua::request_stop(state_->in);
}

void Interpreter::set_value(std::string_view name, const Value& value) {
  api::guarded("set", [&] {
    const Entry entry(state_);
    check_name(name);
    lua::ask_set(entry.in(), name, api::script_value(value, entry.hosted()));
  });
}

Value Interpreter::get_value(std::string_view name) {
  return api::guarded("get", [&] {
    const Entry entry(state_);
    check_name(name);
    return api::host_value(lua::ask_get(entry.in(), name), entry.hosted());
  });
}

}  // namespace rille::v1
