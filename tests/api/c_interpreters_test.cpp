// The C interface: what interpreters have beside running, all results of a call, older programs.
#include <cstddef>
#include <cstring>

#include "api/c_owned.h"

namespace {

using namespace rille_c;

Owned<rille_interpreter> opened() {
  rille_interpreter* in = nullptr;
  REQUIRE(rille_open(nullptr, &in, nullptr) == RILLE_OK);
  return owned(in);
}

rille_status run(rille_interpreter* in, const char* code, rille_error** error) {
  return rille_run_string(in, code, std::strlen(code), "test", error);
}

int64_t integer_at(const rille_results* results, size_t i) {
  rille_value* v = nullptr;
  int64_t n = 0;
  REQUIRE(rille_results_at(results, i, &v, nullptr) == RILLE_OK);
  REQUIRE(rille_value_get_integer(owned(v).get(), &n, nullptr) == RILLE_OK);
  return n;
}

}  // namespace

TEST_CASE("a run gets arguments, and a call gives all of its results", "[c]") {
  ErrorPlace e;
  const auto in = opened();
  const char* const code = "first, second = ..., arg[2] function three(n) return n, n + 1, nil end";
  const char* const words[] = {"one", "two"};
  REQUIRE(rille_run_string_with(in.get(), code, std::strlen(code), "test", words, 2, e) ==
          RILLE_OK);
  CHECK(run(in.get(), "assert(first == 'one' and second == 'two')", e) == RILLE_OK);
  const auto seven = owned(rille_value_integer(7));
  const rille_value* arguments[] = {seven.get()};
  rille_results* made = nullptr;
  REQUIRE(rille_call_results(in.get(), "three", arguments, 1, &made, e) == RILLE_OK);
  const auto results = owned(made);
  CHECK(rille_results_count(made) == 3);
  CHECK(integer_at(made, 0) == 7);
  CHECK(integer_at(made, 1) == 8);
  rille_value* v = nullptr;
  REQUIRE(rille_results_at(made, 5, &v, e) == RILLE_OK);
  CHECK(rille_value_type(owned(v).get()) == RILLE_NIL);
  REQUIRE(rille_get(in.get(), "three", &v, e) == RILLE_OK);
  const auto three = owned(v);
  REQUIRE(rille_value_call_results(v, arguments, 1, &made, e) == RILLE_OK);
  CHECK(integer_at(owned(made).get(), 1) == 8);
  CHECK(rille_call_results(in.get(), "nobody", nullptr, 0, &made, e) == RILLE_ERROR_ARGUMENT);
}

TEST_CASE("closing from inside is refused, and what is closed says so", "[c]") {
  ErrorPlace e;
  const auto in = opened();
  const auto close = [](void* userdata, const rille_value* const*, size_t, rille_results*,
                        rille_error** error) {
    return rille_interpreter_close(static_cast<rille_interpreter*>(userdata), error);
  };
  REQUIRE(rille_bind(in.get(), "close", close, in.get(), nullptr, e) == RILLE_OK);
  CHECK(run(in.get(), "close()", e) == RILLE_ERROR_STATE);
  CHECK(e.code() == "E_BUSY");
  CHECK(run(in.get(), "x = 1", e) == RILLE_OK);
  CHECK(rille_interpreter_close(in.get(), e) == RILLE_OK);
  CHECK(run(in.get(), "x = 2", e) == RILLE_ERROR_STATE);
  CHECK(e.code() == "E_CLOSED");
  CHECK(rille_interpreter_close(in.get(), e) == RILLE_OK);
}

TEST_CASE("a program that knows fewer options has the defaults of the others", "[c]") {
  ErrorPlace e;
  rille_options options;
  rille_options_init(&options);
  options.instruction_limit = 1000;
  options.time_limit = -1;  // behind the part that is read
  options.size = offsetof(rille_options, time_limit);
  rille_interpreter* made = nullptr;
  REQUIRE(rille_open(&options, &made, e) == RILLE_OK);
  CHECK(run(owned(made).get(), "while true do end", e) == RILLE_ERROR_INTERRUPT);
  CHECK(e.code() == "E_BUDGET");
}

TEST_CASE("a program of an older header keeps what lies behind its options", "[c]") {
  constexpr size_t kOld = offsetof(rille_options, devices);  // all that 1.0 had
  constexpr uint64_t kCanary = 0xC0FFEE;
  struct {
    alignas(rille_options) unsigned char options[kOld];
    uint64_t canary;
  } program;
  static_assert(offsetof(decltype(program), canary) == kOld);
  const auto options = reinterpret_cast<rille_options*>(&program);
  void (*const by_old_symbol)(rille_options*) = &rille_options_init;
  for (const bool old_symbol : {true, false}) {
    std::memset(&program, 0xAA, sizeof program);
    program.canary = kCanary;
    if (old_symbol)
      by_old_symbol(options);
    else
      rille_options_init_sized(options, kOld);
    CHECK(program.canary == kCanary);
    size_t size = 0;
    std::memcpy(&size, program.options, sizeof size);
    CHECK(size == kOld);
    const int64_t limit = 1000;
    std::memcpy(program.options + offsetof(rille_options, instruction_limit), &limit, sizeof limit);
    ErrorPlace e;
    rille_interpreter* made = nullptr;
    REQUIRE(rille_open(options, &made, e) == RILLE_OK);
    const Owned<rille_interpreter> in(made);
    CHECK(run(made, "while true do end", e) == RILLE_ERROR_INTERRUPT);
    CHECK(e.code() == "E_BUDGET");
  }
  std::memset(&program, 0xAA, sizeof program);
  rille_options_init_sized(options, sizeof(size_t) - 1);  // no room for the size itself
  CHECK(program.options[0] == 0xAA);
  rille_options newer;  // of a header newer than the library: refused, not half understood
  rille_options_init_sized(&newer, sizeof newer + 8);
  rille_interpreter* made = nullptr;
  CHECK(rille_open(&newer, &made, nullptr) == RILLE_ERROR_ARGUMENT);
}

TEST_CASE("an interpreter keeps to the devices that it is given", "[c]") {
  ErrorPlace e;
  rille_options options;
  rille_options_init(&options);
  options.devices = "cpu:1 cpu";
  rille_interpreter* made = nullptr;
  REQUIRE(rille_open(&options, &made, e) == RILLE_OK);
  const Owned<rille_interpreter> in(made);
  CHECK(run(in.get(), "assert(require('rille').default_device() == 'cpu:1')", e) == RILLE_OK);
  CHECK(run(in.get(), "require('rille').zeros(2, { device = 'cpu:2' })", e) == RILLE_ERROR_STATE);
  CHECK(e.code() == "E_SANDBOX");
  options.devices = "cpu gpu";
  CHECK(rille_open(&options, &made, e) == RILLE_ERROR_ARGUMENT);
}
