// Handles of the C interface that delete themselves, and short ways to make some.
#pragma once
#include <catch2/catch.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "rille/rille_c.h"

namespace rille_c {

struct Deleter {
  void operator()(rille_interpreter* p) const { rille_interpreter_delete(p); }
  void operator()(rille_value* p) const { rille_value_delete(p); }
  void operator()(rille_tensor* p) const { rille_tensor_delete(p); }
  void operator()(rille_error* p) const { rille_error_delete(p); }
  void operator()(rille_tensors* p) const { rille_tensors_delete(p); }
  void operator()(rille_module* p) const { rille_module_delete(p); }
  void operator()(rille_grad_scaler* p) const { rille_grad_scaler_delete(p); }
  void operator()(rille_loader* p) const { rille_loader_delete(p); }
  void operator()(rille_optimizer* p) const { rille_optimizer_delete(p); }
  void operator()(rille_results* p) const { rille_results_delete(p); }
  void operator()(rille_schedule* p) const { rille_schedule_delete(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

// A place for an error, freed whatever is put there.
class ErrorPlace {
 public:
  operator rille_error**() {
    rille_error_delete(error_);
    error_ = nullptr;
    return &error_;
  }
  ~ErrorPlace() { rille_error_delete(error_); }
  std::string code() const { return rille_error_code(error_); }
  std::string message() const { return rille_error_message(error_); }
  const rille_error* get() const { return error_; }

 private:
  rille_error* error_ = nullptr;
};

template <class T>
Owned<T> owned(T* p) {
  return Owned<T>(p);
}

inline Owned<rille_tensor> tensor_of(std::initializer_list<double> values,
                                     std::vector<int64_t> shape) {
  rille_tensor* out = nullptr;
  REQUIRE(rille_tensor_of(values.begin(), shape.size(), shape.data(), RILLE_F64, &out, nullptr) ==
          RILLE_OK);
  return owned(out);
}
inline std::vector<double> values_of(const rille_tensor* t) {
  std::vector<double> out(static_cast<size_t>(rille_tensor_numel(t)));
  REQUIRE(rille_tensor_read(t, RILLE_F64, out.data(), out.size(), nullptr) == RILLE_OK);
  return out;
}

/// A list of names and handles.
inline Owned<rille_tensors> list_of(std::initializer_list<const rille_tensor*> tensors) {
  auto out = owned(rille_tensors_new());
  int number = 0;
  for (const rille_tensor* t : tensors)
    REQUIRE(rille_tensors_add(out.get(), std::to_string(number++).c_str(), t, nullptr) == RILLE_OK);
  return out;
}
inline std::vector<std::string> names_of(const rille_tensors* list) {
  std::vector<std::string> out;
  for (size_t i = 0; i < rille_tensors_count(list); ++i)
    out.emplace_back(rille_tensors_name(list, i));
  return out;
}

/// A table of fields; takes the values.
inline Owned<rille_value> table_of(
    std::initializer_list<std::pair<const char*, rille_value*>> fields) {
  auto out = owned(rille_value_table());
  for (const auto& [key, value] : fields) {
    REQUIRE(rille_table_set(out.get(), key, value, nullptr) == RILLE_OK);
    rille_value_delete(value);
  }
  return out;
}
/// A list; takes the values.
inline Owned<rille_value> list_of_values(std::initializer_list<rille_value*> values) {
  auto out = owned(rille_value_table());
  for (rille_value* value : values) {
    REQUIRE(rille_table_append(out.get(), value, nullptr) == RILLE_OK);
    rille_value_delete(value);
  }
  return out;
}

/// The one result of an op of tensors.
inline Owned<rille_tensor> op(const char* name, std::initializer_list<const rille_tensor*> tensors,
                              const rille_value* options = nullptr) {
  std::vector<Owned<rille_value>> values;
  std::vector<const rille_value*> pointers;
  for (const rille_tensor* t : tensors) {
    values.push_back(owned(rille_value_tensor(t)));
    pointers.push_back(values.back().get());
  }
  rille_tensor* out = nullptr;
  size_t count = 0;
  REQUIRE(rille_op(name, pointers.data(), pointers.size(), options, &out, 1, &count, nullptr) ==
          RILLE_OK);
  return owned(out);
}

}  // namespace rille_c
