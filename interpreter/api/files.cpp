#include "rille/files.hpp"

#include <set>

#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "io/safetensors.h"
#include "ops/cast.h"

namespace rille::v1 {

using api::guarded;

void save(const std::string& path, const StateDict& tensors) {
  guarded("save", [&] {
    const rille::NoGrad quiet;
    std::vector<rille::Tensor> dense;  // holds what the items look at
    std::vector<io::TensorItem> items;
    std::set<std::string_view> names;
    for (const auto& [name, t] : tensors) {
      if (!names.insert(name).second) throw arg_error("the name '{}' is there twice", name);
      dense.push_back(rille::contiguous(api::tensor_of(t)));
      const rille::Tensor& d = dense.back();
      if (d.is_meta()) throw fail(Kind::device, "E_NO_KERNEL", "a meta tensor has no values");
      items.push_back({name, d.dtype(), api::list_of(d.shape()), d.data()});
    }
    io::write_safetensors(path, items);
  });
}

StateDict load(const std::string& path) {
  return guarded("load", [&] {
    const io::SafetensorsFile file(path);
    StateDict out;
    std::vector<io::SafetensorsFile::Target> targets;
    for (const io::TensorEntry& e : file.entries()) {
      if (!e.dtype) throw dtype_error("'{}' is {}, which has no dtype here", e.name, e.tag);
      const auto t = rille::Tensor::empty(api::shape_of(e.shape), *e.dtype);
      targets.push_back({&e, t.data()});
      out.emplace_back(e.name, api::handle_of(t));
    }
    file.read_all(targets);
    return out;
  });
}

}  // namespace rille::v1
