// The C interface: interpreters.
#include <cstddef>
#include <sstream>

#include "interpreter/api/c_arguments.h"

using rille::capi::give, rille::capi::given, rille::capi::guarded, rille::capi::text,
    rille::capi::values_of;
using rille::v1::Error, rille::v1::ErrorKind, rille::v1::Interpreter, rille::v1::Sandbox,
    rille::v1::Value;

namespace {

Interpreter& interpreter_in(rille_interpreter* in) {
  return given(in, "the interpreter").interpreter;
}

// "cpu:1 cpu": names with spaces between them.
std::vector<rille::v1::Device> devices_of(const char* names) {
  std::vector<rille::v1::Device> out;
  std::istringstream words(names ? names : "");
  for (std::string word; words >> word;) out.emplace_back(word);
  return out;
}

Interpreter::Options options_of(const rille_options& o) {
  Interpreter::Options out;
  out.sandbox = o.sandbox ? Sandbox::recipe : Sandbox::none;
  out.threads = o.threads;
  out.memory_limit = o.memory_limit;
  out.lua_memory_limit = o.lua_memory_limit;
  out.tensor_memory_limit = o.tensor_memory_limit;
  out.instruction_limit = o.instruction_limit;
  out.time_limit = o.time_limit;
  out.seed = o.seed;
  out.interruptible = o.interruptible != 0;
  out.devices = devices_of(o.devices);
  const auto sink = [&o](rille_sink f) -> std::function<void(std::string_view)> {
    if (!f) return {};
    return [f, userdata = o.sink_userdata](std::string_view s) { f(userdata, s.data(), s.size()); };
  };
  out.on_print = sink(o.on_print);
  out.on_log = sink(o.on_log);
  return out;
}

std::vector<std::string> words_of(const char* const* list, size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i)
    out.emplace_back(text((&given(list, "the list of arguments"))[i], "an argument"));
  return out;
}

constexpr rille_options kDefaults = {.size = sizeof kDefaults, .interruptible = 1};

}  // namespace

void rille_options_init_sized(rille_options* o, size_t size) {
  rille::capi::init_part(o, size, kDefaults);
}
// In brackets, for it is the name of a macro, too.
void(rille_options_init)(rille_options* o) {
  rille_options_init_sized(o, offsetof(rille_options, devices));
}

rille_status rille_open(const rille_options* options, rille_interpreter** out,
                        rille_error** error) {
  return guarded(error, [&] {
    rille_interpreter*& place = given(out, "the place for the interpreter");
    const rille_options known = rille::capi::known_part(options, kDefaults);
    place = new rille_interpreter{Interpreter(options_of(known))};
  });
}
void rille_interpreter_delete(rille_interpreter* interpreter) { delete interpreter; }
rille_status rille_interpreter_close(rille_interpreter* in, rille_error** error) {
  return guarded(error, [&] { interpreter_in(in).close(); });
}

rille_status rille_run_file(rille_interpreter* in, const char* path, const char* const* arguments,
                            size_t count, rille_error** error) {
  return guarded(error, [&] {
    interpreter_in(in).run_file(text(path, "the path"), words_of(arguments, count)).value();
  });
}
rille_status rille_run_string(rille_interpreter* in, const char* code, size_t size,
                              const char* chunk, rille_error** error) {
  return rille_run_string_with(in, code, size, chunk, nullptr, 0, error);
}
rille_status rille_run_string_with(rille_interpreter* in, const char* code, size_t size,
                                   const char* chunk, const char* const* arguments, size_t count,
                                   rille_error** error) {
  return guarded(error, [&] {
    interpreter_in(in)
        .run_string({text(code, "the code"), size}, chunk ? chunk : "script",
                    words_of(arguments, count))
        .value();
  });
}
rille_status rille_call(rille_interpreter* in, const char* name,
                        const rille_value* const* arguments, size_t count, rille_value** result,
                        rille_error** error) {
  return guarded(error, [&] {
    Value v =
        interpreter_in(in).call_values(text(name, "the name"), values_of(arguments, count)).value();
    if (result) *result = new rille_value{std::move(v)};
  });
}
rille_status rille_call_results(rille_interpreter* in, const char* name,
                                const rille_value* const* arguments, size_t count,
                                rille_results** results, rille_error** error) {
  return give(results, error, [&] {
    const Value f = interpreter_in(in).get_value(text(name, "the name"));
    return f.as<rille::v1::Function>().call(values_of(arguments, count));
  });
}
rille_status rille_set(rille_interpreter* in, const char* name, const rille_value* value,
                       rille_error** error) {
  return guarded(error, [&] {
    interpreter_in(in).set_value(text(name, "the name"), given(value, "the value").value);
  });
}
rille_status rille_get(rille_interpreter* in, const char* name, rille_value** out,
                       rille_error** error) {
  return guarded(error, [&] {
    rille_value*& place = given(out, "the place for the value");
    place = new rille_value{interpreter_in(in).get_value(text(name, "the name"))};
  });
}
rille_status rille_bind(rille_interpreter* in, const char* name, rille_callback callback,
                        void* userdata, rille_destroy destroy, rille_error** error) {
  const std::unique_ptr<rille_value> f(rille_value_function(callback, userdata, destroy, name));
  return guarded(error, [&] {
    given(callback, "the callback");
    if (!f) throw std::bad_alloc();
    interpreter_in(in).set_value(text(name, "the name"), f->value);
  });
}
void rille_interrupt(rille_interpreter* in) {
  if (in) in->interpreter.interrupt();
}
