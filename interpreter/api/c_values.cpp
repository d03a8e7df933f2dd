// The C interface: values, tables, functions.
#include "interpreter/api/c_arguments.h"

using rille::capi::give, rille::capi::given, rille::capi::guarded, rille::capi::made,
    rille::capi::text, rille::capi::values_of;
using rille::v1::Error, rille::v1::ErrorKind, rille::v1::Function, rille::v1::Table,
    rille::v1::Value;

static_assert(static_cast<int>(Value::Type::function) == RILLE_FUNCTION);

namespace {

rille_value* make(Value v) { return new rille_value{std::move(v)}; }

const Value& value_in(const rille_value* v) { return given(v, "the value").value; }

const Table& table_in(const rille_value* v) {
  const Value& value = value_in(v);
  if (!value.table())
    throw Error(ErrorKind::argument, "E_TYPE",
                "a table is needed, got " + std::string(kind_of(value)));
  return *value.table();
}

// What a C callback needs, once for all copies of the function.
class Callback {
 public:
  Callback(rille_callback callback, void* userdata, rille_destroy destroy)
      : callback_(callback), userdata_(userdata), destroy_(destroy) {}
  ~Callback() {
    if (destroy_) destroy_(userdata_);
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  std::vector<Value> operator()(std::span<const Value> given_values) const {
    std::vector<rille_value> values;
    std::vector<const rille_value*> pointers;
    values.reserve(given_values.size());
    for (const Value& v : given_values) pointers.push_back(&values.emplace_back(rille_value{v}));
    rille_results results;
    rille_error* error = nullptr;
    const rille_status status =
        callback_(userdata_, pointers.data(), pointers.size(), &results, &error);
    const std::unique_ptr<rille_error> owned(error);
    if (status == RILLE_OK) return std::move(results.values);
    if (owned) throw Error(owned->error);
    throw Error(ErrorKind::state, "E_HOST",
                "the host's function failed with status " + std::to_string(status));
  }

 private:
  rille_callback callback_;
  void* userdata_;
  rille_destroy destroy_;
};

}  // namespace

rille_value* rille_value_nil(void) {
  return made([] { return make({}); });
}
rille_value* rille_value_boolean(int yes) {
  return made([&] { return make(yes != 0); });
}
rille_value* rille_value_integer(int64_t n) {
  return made([&] { return make(n); });
}
rille_value* rille_value_number(double n) {
  return made([&] { return make(n); });
}
rille_value* rille_value_string(const char* s, size_t size) {
  return made([&] { return make(std::string(s ? s : "", s ? size : 0)); });
}
rille_value* rille_value_tensor(const rille_tensor* tensor) {
  return made([&] { return make(tensor ? Value(tensor->tensor) : Value()); });
}
rille_value* rille_value_table(void) {
  return made([] { return make(Table()); });
}
rille_value* rille_value_function(rille_callback callback, void* userdata, rille_destroy destroy,
                                  const char* name) {
  const auto give_up = [&]() -> rille_value* {
    if (destroy) destroy(userdata);
    return nullptr;
  };
  if (!callback) return give_up();
  std::shared_ptr<Callback> held;
  try {
    held = std::make_shared<Callback>(callback, userdata, destroy);
  } catch (const std::bad_alloc&) {
    return give_up();
  }
  return made([&] {
    return make(Function([held](std::span<const Value> v) { return (*held)(v); },
                         name ? name : "function"));
  });
}
rille_value* rille_value_copy(const rille_value* value) {
  return made([&] { return value ? make(value->value) : nullptr; });
}
void rille_value_delete(rille_value* value) { delete value; }

rille_type rille_value_type(const rille_value* v) {
  return v ? static_cast<rille_type>(v->value.type()) : RILLE_NIL;
}
rille_status rille_value_get_boolean(const rille_value* v, int* out, rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = value_in(v).as<bool>(); });
}
rille_status rille_value_get_integer(const rille_value* v, int64_t* out, rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = value_in(v).as<int64_t>(); });
}
rille_status rille_value_get_number(const rille_value* v, double* out, rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = value_in(v).as<double>(); });
}
rille_status rille_value_get_string(const rille_value* v, const char** out, size_t* size,
                                    rille_error** error) {
  return guarded(error, [&] {
    const Value& value = value_in(v);
    if (!value.string())
      throw Error(ErrorKind::argument, "E_TYPE",
                  "the value must be a string, got " + std::string(kind_of(value)));
    given(out, "the place") = value.string()->c_str();
    if (size) *size = value.string()->size();
  });
}
rille_status rille_value_get_tensor(const rille_value* v, rille_tensor** out, rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the tensor");
    place = new rille_tensor{value_in(v).as<rille::v1::Tensor>()};
  });
}

rille_status rille_table_append(rille_value* table, const rille_value* value, rille_error** error) {
  return guarded(error, [&] {
    Value copy = value_in(value);  // it may be the table itself
    given(table, "the table").value.edit().list.push_back(std::move(copy));
  });
}
rille_status rille_table_set(rille_value* table, const char* key, const rille_value* value,
                             rille_error** error) {
  return guarded(error, [&] {
    Value copy = value_in(value);  // it may be the table itself
    Table& to = given(table, "the table").value.edit();
    to.named.insert_or_assign(text(key, "the key"), std::move(copy));
  });
}
rille_status rille_table_at(const rille_value* table, size_t position, rille_value** out,
                            rille_error** error) {
  return guarded(error, [&] {
    rille_value*& place = given(out, "the place for the value");
    (void)table_in(table);
    place = make(table->value.at(position));
  });
}
rille_status rille_table_get(const rille_value* table, const char* key, rille_value** out,
                             rille_error** error) {
  return guarded(error, [&] {
    rille_value*& place = given(out, "the place for the value");
    (void)table_in(table);
    place = make(table->value[text(key, "the key")]);
  });
}
size_t rille_table_length(const rille_value* v) {
  const Table* t = v ? v->value.table() : nullptr;
  return t ? t->list.size() : 0;
}
size_t rille_table_field_count(const rille_value* v) {
  const Table* t = v ? v->value.table() : nullptr;
  return t ? t->named.size() : 0;
}
const char* rille_table_field_name(const rille_value* v, size_t i) {
  const Table* t = v ? v->value.table() : nullptr;
  if (!t || i >= t->named.size()) return nullptr;
  return std::next(t->named.begin(), static_cast<ptrdiff_t>(i))->first.c_str();
}

rille_status rille_value_call(const rille_value* function, const rille_value* const* arguments,
                              size_t count, rille_value** result, rille_error** error) {
  return guarded(error, [&] {
    std::vector<Value> results =
        value_in(function).as<Function>().call(values_of(arguments, count));
    if (result) *result = make(results.empty() ? Value() : std::move(results.front()));
  });
}
rille_status rille_value_call_results(const rille_value* function,
                                      const rille_value* const* arguments, size_t count,
                                      rille_results** results, rille_error** error) {
  return give(results, error,
              [&] { return value_in(function).as<Function>().call(values_of(arguments, count)); });
}
size_t rille_results_count(const rille_results* results) {
  return results ? results->values.size() : 0;
}
rille_status rille_results_at(const rille_results* results, size_t i, rille_value** out,
                              rille_error** error) {
  return give(out, error, [&] {
    const std::vector<Value>& all = given(results, "the results").values;
    return i < all.size() ? all[i] : Value();
  });
}
void rille_results_delete(rille_results* results) { delete results; }
rille_status rille_results_add(rille_results* results, const rille_value* value,
                               rille_error** error) {
  return guarded(error, [&] { given(results, "the results").values.push_back(value_in(value)); });
}
