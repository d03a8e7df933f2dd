// The C interface: lists of named tensors, and files of them.
#include "interpreter/api/c_handles.h"
#include "rille/files.hpp"

using rille::capi::give, rille::capi::given, rille::capi::guarded, rille::capi::list_in,
    rille::capi::made, rille::capi::tensor_in, rille::capi::text;
using rille::v1::Error, rille::v1::ErrorKind, rille::v1::Tensor;

namespace rille::capi {

std::vector<Tensor> tensors_in(const rille_tensors* t) {
  std::vector<Tensor> out;
  for (const auto& [name, tensor] : list_in(t)) out.push_back(tensor);
  return out;
}

}  // namespace rille::capi

rille_tensors* rille_tensors_new(void) {
  return made([] { return new rille_tensors; });
}
void rille_tensors_delete(rille_tensors* list) { delete list; }

rille_status rille_tensors_add(rille_tensors* list, const char* name, const rille_tensor* tensor,
                               rille_error** error) {
  return guarded(error, [&] {
    given(list, "the list of tensors").list.emplace_back(name ? name : "", tensor_in(tensor));
  });
}
size_t rille_tensors_count(const rille_tensors* list) { return list ? list->list.size() : 0; }
const char* rille_tensors_name(const rille_tensors* list, size_t i) {
  return i < rille_tensors_count(list) ? list->list[i].first.c_str() : nullptr;
}

rille_status rille_tensors_at(const rille_tensors* list, size_t i, rille_tensor** out,
                              rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the tensor");
    const size_t count = list_in(list).size();
    if (i >= count)
      throw Error(ErrorKind::argument, "E_INDEX",
                  "tensor " + std::to_string(i) + ", but there are " + std::to_string(count));
    const Tensor& t = list->list[i].second;
    place = t ? new rille_tensor{t} : nullptr;
  });
}
rille_status rille_tensors_get(const rille_tensors* list, const char* name, rille_tensor** out,
                               rille_error** error) {
  return give(out, error, [&] {
    const std::string_view wanted = text(name, "the name");
    for (const auto& [own, t] : list_in(list))
      if (own == wanted && t) return t;
    throw Error(ErrorKind::argument, "E_ARG", "there is no '" + std::string(wanted) + "'");
  });
}

rille_status rille_save(const char* path, const rille_tensors* list, rille_error** error) {
  return guarded(error, [&] { rille::v1::save(text(path, "the path"), list_in(list)); });
}
rille_status rille_load(const char* path, rille_tensors** out, rille_error** error) {
  return give(out, error, [&] { return rille::v1::load(text(path, "the path")); });
}
