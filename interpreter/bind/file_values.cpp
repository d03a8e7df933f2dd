#include "interpreter/bind/file_values.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "core/context.h"
#include "core/fail.h"
#include "io/nested.h"
#include "ops/cast.h"

namespace rille::bind {

std::vector<int64_t> sizes_of(const Tensor& t) { return {t.shape().begin(), t.shape().end()}; }
Shape shape_of(const std::vector<int64_t>& sizes) { return Shape(sizes.begin(), sizes.end()); }

namespace {

// Turns tensors into positions in the list; a map finds those that were there before.
class Writer {
 public:
  explicit Writer(std::vector<Tensor>& tensors) : tensors_(tensors) {}

  io::Value write(const Value& v) {
    if (const bool* b = v.get<bool>()) return *b;
    if (const int64_t* n = v.get<int64_t>()) return *n;
    if (const double* d = v.get<double>()) return *d;
    if (const std::string* s = v.get<std::string>()) return *s;
    if (const Tensor* t = v.get<Tensor>()) return place_of(*t);
    if (const Table* t = v.table()) {
      io::Table out;
      for (const Value& one : t->list) out.list.push_back(write(one));
      for (const auto& [key, one] : t->named) out.fields.emplace(key, write(one));
      return out;
    }
    if (v.is_nil()) return {};
    throw type_error(
        "files hold nil, booleans, numbers, strings, tensors and tables of these, no functions or "
        "objects");
  }

 private:
  io::TensorRef place_of(const Tensor& t) {
    const auto [place, is_new] = places_.try_emplace(t.impl(), tensors_.size());
    if (is_new) tensors_.push_back(t);
    return {place->second};
  }

  std::vector<Tensor>& tensors_;
  std::unordered_map<const TensorImpl*, size_t> places_;
};

}  // namespace

io::Value to_file(const Value& v, std::vector<Tensor>& tensors) { return Writer(tensors).write(v); }

Value from_file(const io::Value& v, const std::vector<Tensor>& tensors) {
  if (const auto* b = v.get<bool>()) return *b;
  if (const auto* n = v.get<int64_t>()) return *n;
  if (const auto* d = v.get<double>()) return *d;
  if (const auto* s = v.get<std::string>()) return *s;
  if (const auto* r = v.get<io::TensorRef>()) return tensors.at(r->index);
  if (const auto* t = v.get<io::Table>()) {
    Table out;
    for (const io::Value& one : t->list) out.list.push_back(from_file(one, tensors));
    for (const auto& [key, one] : t->fields) out.named.emplace(key, from_file(one, tensors));
    return out;
  }
  return {};
}

Snapshot snapshot_of(const Value& root, bool own) {
  std::vector<Tensor> tensors;
  const io::Value tree = to_file(root, tensors);
  const io::FlatTree flat = io::flatten(tree, tensors.size());
  const NoGrad quiet;
  Snapshot now;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_meta())
      throw fail(Kind::device, "E_NO_KERNEL", "a meta tensor has no values to save");
    Tensor t = contiguous(to_device(tensors[i], Device{}));
    if (own && t.data() == tensors[i].data()) t = clone(t);
    now.items.push_back({flat.names[i], t.dtype(), sizes_of(t), t.data()});
    now.dense.push_back(std::move(t));
  }
  if (!flat.tree.empty()) now.metadata.emplace(io::kTreeKey, flat.tree);
  return now;
}

namespace {

void check_format(const io::SafetensorsFile& file, const io::TensorEntry& e) {
  if (!e.dtype)
    throw dtype_error("'{}' in '{}' has the format {}, which Rille has none of", e.name,
                      file.path(), e.tag);
}

// The entry's bytes in the file's own pages; nothing where they can't be used in place.
Tensor map_tensor(io::SafetensorsFile& file, const io::TensorEntry& e) {
  if (e.nbytes == 0 || e.dtype == DType::boolean || e.offset % size_of(*e.dtype) != 0) return {};
  auto bytes = std::make_unique<std::shared_ptr<std::byte>>(file.map(e));
  const auto release = [](void* p) { delete static_cast<std::shared_ptr<std::byte>*>(p); };
  Tensor t(new TensorImpl);
  TensorImpl& i = *t.impl();
  i.dtype = *e.dtype;
  i.shape = shape_of(e.shape);
  i.strides = contiguous_strides(i.shape);
  i.numel = checked_numel(i.shape, size_of(i.dtype));
  i.inference = Context::current().flags & kInference;
  i.storage = adopt_storage(bytes->get(), e.nbytes, release, bytes.get());
  (void)bytes.release();  // the storage's now
  // So that the collector lets go of mappings that were dropped as it does of memory.
  Context::current().allocated_since_collect += static_cast<int64_t>(e.nbytes);
  return t;
}

std::vector<Tensor> read_tensors(io::SafetensorsFile& file, bool mapped) {
  using Target = io::SafetensorsFile::Target;
  std::vector<Tensor> tensors;
  std::vector<Target> in_place, copied;
  for (const io::TensorEntry& e : file.entries()) {
    check_format(file, e);
    Tensor t = mapped ? map_tensor(file, e) : Tensor();
    auto& list = t ? in_place : copied;
    if (!t) t = Tensor::empty(shape_of(e.shape), *e.dtype);
    list.push_back({&e, t.data()});
    tensors.push_back(std::move(t));
  }
  file.read_all(copied);
  file.verify_mapped(in_place);
  return tensors;
}

}  // namespace

Tensor read_tensor(const io::SafetensorsFile& file, const io::TensorEntry& e) {
  check_format(file, e);
  const Tensor t = Tensor::empty(shape_of(e.shape), *e.dtype);
  file.read(e, t.data());
  return t;
}

Value tree_of(io::SafetensorsFile& file, Device to, bool mapped) {
  std::vector<Tensor> tensors = read_tensors(file, mapped);
  for (Tensor& t : tensors) t = to_device(t, to);
  std::vector<std::string> names;
  for (const io::TensorEntry& e : file.entries()) names.push_back(e.name);
  const auto tree = file.metadata().find(io::kTreeKey);
  return from_file(io::unflatten(tree == file.metadata().end() ? "" : tree->second, names),
                   tensors);
}

}  // namespace rille::bind
