// The C interface, from C++: who owns what, what is refused, errors, callbacks.
#include <cstring>

#include "api/c_owned.h"
#include "rille/dlpack.h"

namespace {

using namespace rille_c;

Owned<rille_interpreter> opened() {
  rille_interpreter* in = nullptr;
  REQUIRE(rille_open(nullptr, &in, nullptr) == RILLE_OK);
  return Owned<rille_interpreter>(in);
}

rille_status run(rille_interpreter* in, const char* code, rille_error** error) {
  return rille_run_string(in, code, std::strlen(code), "test", error);
}

int destroyed = 0, freed = 0;

rille_status echo(void*, const rille_value* const* arguments, size_t count, rille_results* results,
                  rille_error** error) {
  for (size_t i = count; i-- > 0;)
    if (const rille_status s = rille_results_add(results, arguments[i], error)) return s;
  return RILLE_OK;
}
rille_status fail_silently(void*, const rille_value* const*, size_t, rille_results*,
                           rille_error**) {
  return 77;
}
rille_status fail_aloud(void*, const rille_value* const*, size_t, rille_results*,
                        rille_error** error) {
  *error = rille_error_new("E_FORMAT", "not a record");
  return RILLE_ERROR_DATA;
}

}  // namespace

TEST_CASE("versions tell what the library is", "[c]") {
  CHECK(rille_abi_version() == RILLE_ABI_MAJOR * 65536 + RILLE_ABI_MINOR);
  CHECK(std::string(rille_version()) == "0.1.0");
}

TEST_CASE("values hold what they were made of", "[c]") {
  ErrorPlace e;
  const Owned<rille_value> n(rille_value_integer(7)), d(rille_value_number(2.5)),
      s(rille_value_string("a\0b", 3)), t(rille_value_table());
  int64_t integer = 0;
  double number = 0;
  CHECK(rille_value_get_integer(n.get(), &integer, e) == RILLE_OK);
  CHECK(integer == 7);
  CHECK(rille_value_get_number(n.get(), &number, e) == RILLE_OK);
  CHECK(number == 7);
  CHECK(rille_value_get_integer(d.get(), &integer, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_TYPE");
  const char* text = nullptr;
  size_t size = 0;
  CHECK(rille_value_get_string(s.get(), &text, &size, e) == RILLE_OK);
  CHECK(std::string(text, size) == std::string("a\0b", 3));
  for (int i = 0; i < 10000; ++i) REQUIRE(rille_table_append(t.get(), n.get(), e) == RILLE_OK);
  CHECK(rille_table_set(t.get(), "name", s.get(), e) == RILLE_OK);
  CHECK(rille_table_append(t.get(), t.get(), e) == RILLE_OK);  // of what it was before
  CHECK(rille_table_length(t.get()) == 10001);
  CHECK(rille_table_field_count(t.get()) == 1);
  CHECK(std::string(rille_table_field_name(t.get(), 0)) == "name");
  rille_value* last = nullptr;
  CHECK(rille_table_at(t.get(), 10001, &last, e) == RILLE_OK);
  CHECK(rille_table_length(Owned<rille_value>(last).get()) == 10000);
  rille_value* none = nullptr;
  CHECK(rille_table_at(t.get(), 0, &none, e) == RILLE_OK);
  CHECK(rille_value_type(Owned<rille_value>(none).get()) == RILLE_NIL);
}

TEST_CASE("NULL is refused, and may be deleted", "[c]") {
  ErrorPlace e;
  rille_interpreter_delete(nullptr);
  rille_value_delete(nullptr);
  rille_tensor_delete(nullptr);
  rille_error_delete(nullptr);
  rille_interrupt(nullptr);
  CHECK(run(nullptr, "x = 1", e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_ARG");
  CHECK(rille_open(nullptr, nullptr, e) == RILLE_ERROR_ARGUMENT);
  const auto in = opened();
  CHECK(rille_run_string(in.get(), nullptr, 0, "x", e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_set(in.get(), "x", nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_get(in.get(), nullptr, nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_call(in.get(), "print", nullptr, 3, nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_bind(in.get(), "f", nullptr, nullptr, nullptr, e) == RILLE_ERROR_ARGUMENT);
  CHECK(run(in.get(), "error 'no place for it'", nullptr) == RILLE_ERROR_STATE);
  rille_options wrong;
  rille_options_init(&wrong);
  wrong.size = sizeof wrong + 8;
  rille_interpreter* other = nullptr;
  CHECK(rille_open(&wrong, &other, e) == RILLE_ERROR_ARGUMENT);
}

TEST_CASE("callbacks get arguments, give results, fail, and are destroyed once", "[c]") {
  destroyed = 0;
  {
    ErrorPlace e;
    const auto in = opened();
    const auto count = [](void*) { ++destroyed; };
    REQUIRE(rille_bind(in.get(), "t.echo", echo, nullptr, count, e) == RILLE_OK);
    REQUIRE(rille_bind(in.get(), "quiet", fail_silently, nullptr, count, e) == RILLE_OK);
    REQUIRE(rille_bind(in.get(), "loud", fail_aloud, nullptr, count, e) == RILLE_OK);
    CHECK(run(in.get(), "local a, b = t.echo(1, 'x') assert(a == 'x' and b == 1)", e) == RILLE_OK);
    CHECK(run(in.get(), "\nquiet()", e) == RILLE_ERROR_STATE);
    CHECK(e.code() == "E_HOST");
    CHECK(std::string(rille_error_where(e.get())) == "test:2");
    CHECK(run(in.get(), "loud()", e) != RILLE_OK);
    CHECK(e.code() == "E_FORMAT");
    CHECK(e.message() == "not a record");
    CHECK(run(in.get(), "for _ = 1, 1000 do assert(not pcall(loud)) end", e) == RILLE_OK);
    CHECK(destroyed == 0);
    CHECK(run(in.get(), "quiet = nil collectgarbage() collectgarbage()", e) == RILLE_OK);
    CHECK(destroyed == 1);
    CHECK(rille_bind(in.get(), "a..b", echo, nullptr, count, e) == RILLE_ERROR_ARGUMENT);
    CHECK(destroyed == 2);
  }
  CHECK(destroyed == 4);
}

TEST_CASE("memory of the host: shared, freed once, read-only where it says so", "[c]") {
  freed = 0;
  double memory[4] = {1, 2, 3, 4};
  const int64_t shape[2] = {2, 2}, bad[2] = {-1, 2};
  const auto free_it = [](void*, void*) { ++freed; };
  ErrorPlace e;
  rille_tensor* made = nullptr;
  CHECK(rille_tensor_from_host(memory, 2, bad, nullptr, RILLE_F64, 0, free_it, nullptr, &made, e) !=
        RILLE_OK);
  CHECK(freed == 0);
  CHECK(rille_tensor_from_host(memory, 2, shape, nullptr, 99, 0, free_it, nullptr, &made, e) ==
        RILLE_ERROR_DTYPE);
  {
    const auto in = opened();
    REQUIRE(rille_tensor_from_host(memory, 2, shape, nullptr, RILLE_F64, 1, free_it, nullptr, &made,
                                   e) == RILLE_OK);
    const Owned<rille_tensor> tensor(made);
    const Owned<rille_value> value(rille_value_tensor(tensor.get()));
    REQUIRE(rille_set(in.get(), "x", value.get(), e) == RILLE_OK);
    CHECK(run(in.get(), "assert(x:sum():item() == 10) x:add_(1)", e) == RILLE_ERROR_STATE);
    CHECK(e.code() == "E_READONLY");
    void* data = nullptr;
    CHECK(rille_tensor_mutable_data(tensor.get(), &data, e) == RILLE_ERROR_STATE);
    const void* seen = nullptr;
    CHECK(rille_tensor_data(tensor.get(), &seen, e) == RILLE_OK);
    CHECK(seen == memory);
    char device[8];
    CHECK(rille_tensor_device(tensor.get(), device, sizeof device, e) == RILLE_OK);
    CHECK(std::string(device).starts_with("cpu"));
    CHECK(rille_tensor_device(tensor.get(), device, 2, e) == RILLE_ERROR_ARGUMENT);
    CHECK(freed == 0);
  }
  CHECK(freed == 1);
}

TEST_CASE("DLPack goes out and comes back as the same memory", "[c]") {
  ErrorPlace e;
  float memory[6] = {};
  const int64_t shape[2] = {2, 3};
  rille_tensor* made = nullptr;
  REQUIRE(rille_tensor_from_host(memory, 2, shape, nullptr, RILLE_F32, 0, nullptr, nullptr, &made,
                                 e) == RILLE_OK);
  const Owned<rille_tensor> tensor(made);
  void* managed = nullptr;
  REQUIRE(rille_tensor_to_dlpack(tensor.get(), &managed, e) == RILLE_OK);
  CHECK(static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor.data == memory);
  REQUIRE(rille_tensor_from_dlpack(managed, &made, e) == RILLE_OK);
  const Owned<rille_tensor> back(made);
  const void* data = nullptr;
  CHECK(rille_tensor_data(back.get(), &data, e) == RILLE_OK);
  CHECK(data == memory);
}

TEST_CASE("ops by name: positions, options, numbers, errors", "[c]") {
  ErrorPlace e;
  double memory[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[2] = {2, 3};
  rille_tensor* made = nullptr;
  REQUIRE(rille_tensor_from_host(memory, 2, shape, nullptr, RILLE_F64, 0, nullptr, nullptr, &made,
                                 e) == RILLE_OK);
  const Owned<rille_tensor> tensor(made);
  const Owned<rille_value> x(rille_value_tensor(tensor.get())), two(rille_value_integer(2)),
      one(rille_value_integer(1)), options(rille_value_table());
  rille_tensor* out[2] = {};
  size_t count = 0;
  const rille_value* both[] = {x.get(), two.get(), two.get(), two.get(), two.get(), two.get()};
  REQUIRE(rille_op("mul", both, 2, nullptr, out, 2, &count, e) == RILLE_OK);
  CHECK(count == 1);
  const Owned<rille_tensor> doubled(out[0]);
  const void* data = nullptr;
  REQUIRE(rille_tensor_data(doubled.get(), &data, e) == RILLE_OK);
  CHECK(static_cast<const double*>(data)[5] == 12);
  // topk(x, 2) along the last dim: two results.
  CHECK(rille_op("topk", both, 2, nullptr, out, 1, &count, e) == RILLE_ERROR_ARGUMENT);
  CHECK(count == 2);
  REQUIRE(rille_op("topk", both, 2, nullptr, out, 2, &count, e) == RILLE_OK);
  const Owned<rille_tensor> values(out[0]), ids(out[1]);
  CHECK(rille_tensor_dtype(ids.get()) == RILLE_I64);
  CHECK(rille_table_set(options.get(), "dims", one.get(), e) == RILLE_OK);
  REQUIRE(rille_op("sum", both, 1, options.get(), out, 2, &count, e) == RILLE_OK);
  const Owned<rille_tensor> rows(out[0]);
  REQUIRE(rille_tensor_data(rows.get(), &data, e) == RILLE_OK);
  CHECK(static_cast<const double*>(data)[1] == 15);
  CHECK(rille_table_set(options.get(), "dimz", one.get(), e) == RILLE_OK);
  CHECK(rille_op("sum", both, 1, options.get(), out, 2, &count, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_OPTION");
  CHECK(rille_op("no_such_op", both, 1, nullptr, out, 2, &count, e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_op("mul", both, 1, nullptr, out, 2, &count, e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_op("mul", both, 6, nullptr, out, 2, &count, e) == RILLE_ERROR_ARGUMENT);
  const rille_value* twice[] = {x.get(), x.get()};
  CHECK(rille_op("matmul", twice, 2, nullptr, out, 2, &count, e) == RILLE_ERROR_SHAPE);
  CHECK(e.code() == "E_SHAPE");
}

TEST_CASE("gradients by the C interface", "[c]") {
  ErrorPlace e;
  double memory[2] = {3, 4};
  const int64_t shape[1] = {2};
  rille_tensor* made = nullptr;
  REQUIRE(rille_tensor_from_host(memory, 1, shape, nullptr, RILLE_F64, 0, nullptr, nullptr, &made,
                                 e) == RILLE_OK);
  const Owned<rille_tensor> x(made);
  REQUIRE(rille_tensor_grad(x.get(), &made, e) == RILLE_OK);
  CHECK(made == nullptr);
  REQUIRE(rille_tensor_set_requires_grad(x.get(), 1, e) == RILLE_OK);
  const Owned<rille_value> v(rille_value_tensor(x.get()));
  const rille_value* twice[] = {v.get(), v.get()};
  size_t count = 0;
  REQUIRE(rille_op("mul", twice, 2, nullptr, &made, 1, &count, e) == RILLE_OK);
  const Owned<rille_tensor> squares(made);
  CHECK(rille_tensor_backward(squares.get(), e) != RILLE_OK);  // not one element
  const Owned<rille_value> s(rille_value_tensor(squares.get()));
  const rille_value* one[] = {s.get()};
  REQUIRE(rille_op("sum", one, 1, nullptr, &made, 1, &count, e) == RILLE_OK);
  const Owned<rille_tensor> sum(made);
  double total = 0;
  CHECK(rille_tensor_item(sum.get(), &total, e) == RILLE_OK);
  CHECK(total == 25);
  REQUIRE(rille_tensor_backward(sum.get(), e) == RILLE_OK);
  REQUIRE(rille_tensor_grad(x.get(), &made, e) == RILLE_OK);
  const Owned<rille_tensor> grad(made);
  const void* data = nullptr;
  REQUIRE(rille_tensor_data(grad.get(), &data, e) == RILLE_OK);
  CHECK(static_cast<const double*>(data)[0] == 6);
  CHECK(static_cast<const double*>(data)[1] == 8);
}
