// The C interface: tensors beyond their memory, settings, lists and files, ops in place.
#include <cstring>
#include <filesystem>

#include "api/c_owned.h"

namespace {

using namespace rille_c;

rille_value* integer(int64_t n) { return rille_value_integer(n); }

std::string text_of(const rille_value* v) {
  const char* text = nullptr;
  REQUIRE(rille_value_get_string(v, &text, nullptr, nullptr) == RILLE_OK);
  return text;
}

}  // namespace

TEST_CASE("values are copied in and out, converted on the way", "[c]") {
  ErrorPlace e;
  float memory[4] = {1.5f, 2.5f, -3.5f, 4};
  const int64_t shape[2] = {2, 2};
  rille_tensor* out = nullptr;
  REQUIRE(rille_tensor_of(memory, 2, shape, RILLE_F32, &out, e) == RILLE_OK);
  const auto t = owned(out);
  memory[0] = 100;
  CHECK(values_of(t.get()) == std::vector<double>{1.5, 2.5, -3.5, 4});
  CHECK(rille_tensor_is_contiguous(t.get()));
  CHECK_FALSE(rille_tensor_is_read_only(t.get()));
  int32_t whole[4];
  CHECK(rille_tensor_read(t.get(), RILLE_I32, whole, 4, e) == RILLE_OK);
  CHECK(whole[2] == -3);
  CHECK(rille_tensor_read(t.get(), RILLE_I32, whole, 3, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "the tensor has 4 elements, the place 3");
  REQUIRE(rille_tensor_to_dtype(t.get(), RILLE_BF16, &out, e) == RILLE_OK);
  const auto half = owned(out);
  CHECK(rille_tensor_dtype(half.get()) == RILLE_BF16);
  REQUIRE(rille_tensor_to_device(t.get(), "cpu:1", &out, e) == RILLE_OK);
  const auto elsewhere = owned(out);
  char device[8];
  CHECK(rille_tensor_device(elsewhere.get(), device, sizeof device, e) == RILLE_OK);
  CHECK(std::string(device) == "cpu:1");
  CHECK(values_of(elsewhere.get()) == values_of(t.get()));
  CHECK(rille_tensor_to_device(t.get(), "moon", &out, e) == RILLE_ERROR_ARGUMENT);
  CHECK_FALSE(rille_tensor_is(t.get(), elsewhere.get()));
  const Owned<rille_tensor> same(rille_tensor_copy(t.get()));
  CHECK(rille_tensor_is(t.get(), same.get()));
  int64_t n = 0;
  CHECK(rille_tensor_item_integer(tensor_of({7}, {}).get(), &n, e) == RILLE_OK);
  CHECK(n == 7);
  rille_value* text = nullptr;
  REQUIRE(rille_tensor_text(t.get(), &text, e) == RILLE_OK);
  CHECK(text_of(owned(text).get()).find("f32[2, 2]") != std::string::npos);
}

TEST_CASE("an index of positions, slices, ids: to read and to write", "[c]") {
  ErrorPlace e;
  const auto t = tensor_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
  const auto look = [&](const Owned<rille_value>& at) {
    rille_tensor* out = nullptr;
    REQUIRE(rille_tensor_index(t.get(), at.get(), &out, nullptr) == RILLE_OK);
    return owned(out);
  };
  const auto bounds = [](int64_t start, int64_t stop) {
    return table_of({{"start", integer(start)}, {"stop", integer(stop)}}).release();
  };
  CHECK(values_of(look(list_of_values({integer(-1), integer(0)})).get()) == std::vector<double>{8});
  const auto corner = look(list_of_values({rille_value_table(), bounds(1, 3)}));
  CHECK(values_of(corner.get()) == std::vector<double>{1, 2, 5, 6, 9, 10});
  const auto every_second =
      look(list_of_values({integer(0), table_of({{"step", integer(2)}}).release()}));
  CHECK(values_of(every_second.get()) == std::vector<double>{0, 2});
  const int64_t wanted[2] = {2, 0}, two = 2;
  rille_tensor* ids = nullptr;
  REQUIRE(rille_tensor_of(wanted, 1, &two, RILLE_I64, &ids, e) == RILLE_OK);
  const auto held = owned(ids);
  CHECK(values_of(look(list_of_values({rille_value_tensor(ids), integer(1)})).get()) ==
        std::vector<double>{9, 1});

  const auto at = list_of_values({integer(0), bounds(0, 2)});
  CHECK(rille_tensor_index_put(t.get(), at.get(), owned(integer(-1)).get(), e) == RILLE_OK);
  CHECK(values_of(corner.get()) == std::vector<double>{-1, 2, 5, 6, 9, 10});
  rille_tensor* none = nullptr;
  CHECK(rille_tensor_index(t.get(), list_of_values({integer(3)}).get(), &none, e) != RILLE_OK);
  CHECK(e.code() == "E_INDEX");
  const auto wrong = list_of_values({table_of({{"from", integer(3)}}).release()});
  CHECK(rille_tensor_index(t.get(), wrong.get(), &none, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() ==
        "position 1 of 'index' must be a table of start, stop and step, got a table");
  CHECK(rille_tensor_index(t.get(), owned(integer(3)).get(), &none, e) == RILLE_ERROR_ARGUMENT);
}

TEST_CASE("what tensors are made as is a setting of the thread", "[c]") {
  ErrorPlace e;
  char device[8];
  CHECK(rille_set_default_device("cpu:1", e) == RILLE_OK);
  CHECK(rille_default_device(device, sizeof device, e) == RILLE_OK);
  CHECK(std::string(device) == "cpu:1");
  CHECK(rille_set_default_device("cpu", e) == RILLE_OK);
  CHECK(rille_default_device(device, 3, e) == RILLE_ERROR_ARGUMENT);
  CHECK(rille_set_default_dtype(RILLE_F64, e) == RILLE_OK);
  CHECK(rille_default_dtype() == RILLE_F64);
  CHECK(rille_set_default_dtype(RILLE_I32, e) == RILLE_ERROR_DTYPE);
  CHECK(rille_set_default_dtype(RILLE_F32, e) == RILLE_OK);
  rille_dtype dtype = -1;
  CHECK(rille_dtype_parse("bf16", &dtype, e) == RILLE_OK);
  CHECK(dtype == RILLE_BF16);
  CHECK(rille_dtype_parse("f8", &dtype, e) == RILLE_ERROR_DTYPE);
  CHECK(std::string(rille_dtype_name(RILLE_BOOL)) == "bool");
  CHECK(std::string(rille_dtype_name(RILLE_F4_E2M1)) == "f4_e2m1");
  CHECK(rille_dtype_name(RILLE_F4_E2M1 + 1) == nullptr);
  CHECK(rille_set_default_dtype(RILLE_F8_E4M3, e) == RILLE_ERROR_DTYPE);
  CHECK(rille_dtype_size(RILLE_BF16) == 2);
}

TEST_CASE("narrow floats are made, converted and read as bytes", "[c]") {
  ErrorPlace e;
  const auto wide = tensor_of({0.5, 1, -6, 1000}, {4});
  rille_tensor* narrow = nullptr;
  REQUIRE(rille_tensor_to_dtype(wide.get(), RILLE_F4_E2M1, &narrow, e) == RILLE_OK);
  CHECK(rille_tensor_nbytes(narrow) == 2);
  uint8_t bytes[3] = {0, 0, 0xaa};
  CHECK(rille_tensor_read(narrow, RILLE_F4_E2M1, bytes, 4, e) == RILLE_OK);
  CHECK((bytes[0] == 0x21 && bytes[1] == 0x7f && bytes[2] == 0xaa));
  CHECK(values_of(narrow) == std::vector<double>{0.5, 1, -6, 6});
  rille_tensor_delete(narrow);
}

TEST_CASE("in-place forms of ops write into their first argument", "[c]") {
  ErrorPlace e;
  const auto t = tensor_of({1, 2, 3}, {3}), one = tensor_of({1, 1, 1}, {3});
  const auto same = op("add_", {t.get(), one.get()});
  CHECK(rille_tensor_is(same.get(), t.get()));
  CHECK(values_of(t.get()) == std::vector<double>{2, 3, 4});
  op("copy_", {t.get(), one.get()});
  CHECK(values_of(t.get()) == std::vector<double>{1, 1, 1});
  op("zero_", {t.get()});
  CHECK(values_of(t.get()) == std::vector<double>{0, 0, 0});
  rille_tensor* out = nullptr;
  size_t count = 0;
  CHECK(rille_op("matmul_", nullptr, 0, nullptr, &out, 1, &count, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "there is no op 'matmul_'");
}

TEST_CASE("a generator of one's own gives the same numbers again", "[c]") {
  ErrorPlace e;
  const auto draw = [&](rille_generator* from) {
    const Owned<rille_value> size(integer(5));
    const rille_value* arguments[] = {size.get()};
    rille_tensor* out = nullptr;
    size_t count = 0;
    REQUIRE(rille_op_random("randn", arguments, 1, nullptr, from, &out, 1, &count, e) == RILLE_OK);
    return values_of(owned(out).get());
  };
  rille_generator a{7, 0}, b{7, 0};
  const auto first = draw(&a), second = draw(&a);
  CHECK(a.next == 2);
  CHECK(first != second);
  CHECK(draw(&b) == first);
  CHECK(draw(&b) == second);
  rille_seed(3);
  const auto of_the_thread = draw(nullptr);
  rille_seed(3);
  CHECK(draw(nullptr) == of_the_thread);
}

TEST_CASE("lists of tensors travel through files", "[c]") {
  ErrorPlace e;
  const auto a = tensor_of({1, 2}, {2}), b = tensor_of({3}, {});
  const auto list = owned(rille_tensors_new());
  CHECK(rille_tensors_add(list.get(), "a", a.get(), e) == RILLE_OK);
  CHECK(rille_tensors_add(list.get(), "deep.b", b.get(), e) == RILLE_OK);
  const auto path = std::filesystem::temp_directory_path() / "rille_c_lists.safetensors";
  REQUIRE(rille_save(path.c_str(), list.get(), e) == RILLE_OK);
  rille_tensors* read = nullptr;
  REQUIRE(rille_load(path.c_str(), &read, e) == RILLE_OK);
  const auto back = owned(read);
  std::filesystem::remove(path);
  CHECK(names_of(back.get()) == std::vector<std::string>{"a", "deep.b"});
  rille_tensor* out = nullptr;
  REQUIRE(rille_tensors_get(back.get(), "a", &out, e) == RILLE_OK);
  CHECK(values_of(owned(out).get()) == std::vector<double>{1, 2});
  CHECK(rille_tensors_get(back.get(), "c", &out, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "there is no 'c'");
  CHECK(rille_tensors_at(back.get(), 2, &out, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.code() == "E_INDEX");
  CHECK(rille_tensors_name(back.get(), 2) == nullptr);
  CHECK(rille_load("/no/such/file", &read, e) == RILLE_ERROR_DATA);
  CHECK(e.code() == "E_IO");
}

TEST_CASE("what the library says about its ops and layers", "[c]") {
  ErrorPlace e;
  rille_value* made = nullptr;
  REQUIRE(rille_layer_schemas(&made, e) == RILLE_OK);
  const auto layers = owned(made);
  bool linear = false;
  for (size_t i = 1; i <= rille_table_length(layers.get()); ++i) {
    REQUIRE(rille_table_at(layers.get(), i, &made, e) == RILLE_OK);
    const auto layer = owned(made);
    REQUIRE(rille_table_get(layer.get(), "name", &made, e) == RILLE_OK);
    linear |= text_of(owned(made).get()) == "Linear";
  }
  CHECK(linear);
  REQUIRE(rille_op_schemas(&made, e) == RILLE_OK);
  CHECK(rille_table_length(owned(made).get()) > 200);
}
