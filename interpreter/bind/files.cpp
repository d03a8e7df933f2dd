// Files of other formats from scripts, tensors of a safetensors file one by one, and what the
// standard library needs of the file system and JSON.
#include <cmath>
#include <filesystem>

#include "core/fail.h"
#include "data/idx.h"
#include "data/text.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/file_values.h"
#include "interpreter/bind/named.h"
#include "io/file.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "ops/cast.h"

namespace rille::bind {
namespace {

// ---- safetensors, tensor by tensor
// -----------------------------------------------------------------

// rille.io.safetensors(path) -> names, reader: tensors one by one, whatever the file's size.
class Reader final : public lua::Object {
 public:
  static constexpr std::string_view kWhat = "an open safetensors file";
  explicit Reader(const std::string& path) : file(path) {}
  std::string_view type() const override { return "rille.Safetensors"; }
  io::SafetensorsFile file;
};
void open_safetensors(Call& c) {
  named("io.safetensors",
        [&] { c.give(lua::ObjectRef(std::make_shared<Reader>(c.string(1, "path")))); });
}
void reader_names(Call& c) {
  const auto reader = c.object<Reader>(1, "self");
  Table t;
  for (const auto& e : reader->file.entries()) t.list.emplace_back(e.name);
  c.give(t);
}
void reader_get(Call& c) {
  const auto reader = c.object<Reader>(1, "self");
  const std::string name = c.string(2, "name");
  const io::TensorEntry* e = reader->file.find(name);
  if (!e) throw arg_error("'{}' has no tensor '{}'", reader->file.path(), name);
  c.give(read_tensor(reader->file, *e));
}
void reader_metadata(Call& c) {
  Table t;
  for (const auto& [key, v] : c.object<Reader>(1, "self")->file.metadata()) t.named.emplace(key, v);
  c.give(t);
}

// ---- numpy
// -----------------------------------------------------------------------------------------

Tensor read_npy(io::NpyReader reader) {
  const Tensor t = Tensor::empty(shape_of(reader.info().shape), reader.info().dtype);
  reader.read(t.data());
  return t;
}
// rille.io.npy(path[, tensor]): reads, or writes the tensor.
void npy(Call& c) {
  named("io.npy", [&] {
    const std::string path = c.string(1, "path");
    if (!c.has(2)) return c.give(read_npy(io::open_npy(path)));
    const NoGrad quiet;
    const Tensor t = contiguous(c.tensor(2, "tensor"));
    io::write_npy(path, {t.dtype(), sizes_of(t), t.data()});
  });
}
// rille.io.npz(path[, table of tensors])
void npz(Call& c) {
  named("io.npz", [&] {
    const std::string path = c.string(1, "path");
    if (!c.has(2)) {
      const io::NpzFile file(path);
      Table out;
      for (const std::string& name : file.names())
        out.named.emplace(name, read_npy(file.open(name)));
      return c.give(out);
    }
    const NoGrad quiet;
    const Value v = c.value(2);
    std::vector<Tensor> dense;
    std::vector<io::NpzItem> items;
    if (!v.table()) c.wrong(2, "tensors", "a table of tensors by name");
    for (const auto& [key, one] : v.table()->named) {
      if (!one.get<Tensor>()) throw type_error("'{}' must be a tensor", key);
      dense.push_back(contiguous(*one.get<Tensor>()));
      items.push_back({key, {dense.back().dtype(), sizes_of(dense.back()), dense.back().data()}});
    }
    io::write_npz(path, items);
  });
}

// ---- data sets
// -------------------------------------------------------------------------------------

void idx(Call& c) {
  named("data.idx", [&] {
    const data::IdxArray a = data::read_idx(c.string(1, "path"));
    const Tensor t = Tensor::empty(shape_of(a.shape), a.dtype);
    std::copy(a.bytes.begin(), a.bytes.end(), static_cast<std::byte*>(t.data()));
    c.give(t);
  });
}
// native.text(path) -> ids, characters
void text(Call& c) {
  named("data.text", [&] {
    const data::CharText read = data::read_char_text(c.string(1, "path"));
    const Tensor t = Tensor::empty(Shape{static_cast<int64_t>(read.ids.size())}, DType::i64);
    std::copy(read.ids.begin(), read.ids.end(), t.data_as<int64_t>());
    Table characters;
    for (const std::string& s : read.vocab.symbols()) characters.list.emplace_back(s);
    c.give(t);
    c.give(characters);
  });
}

// ---- file system and JSON, for the standard library
// ------------------------------------------------

namespace fs = std::filesystem;

void exists(Call& c) { c.give(fs::exists(c.string(1, "path"))); }
// native.is_file(path): a regular file, also by a link.
void is_file(Call& c) {
  std::error_code e;
  c.give(fs::is_regular_file(c.string(1, "path"), e));
}
template <class F>
void on_file_system(const std::string& path, const char* action, F&& f) {
  std::error_code e;
  f(e);
  if (e) throw io_error("cannot {} '{}': {}", action, path, e.message());
}
void mkdirs(Call& c) { io::make_dirs(c.string(1, "path")); }
void list(Call& c) {
  Table t;
  for (std::string& n : io::list_dir(c.string(1, "path"))) t.list.emplace_back(std::move(n));
  c.give(t);
}
void remove_all(Call& c) {
  const std::string path = c.string(1, "path");
  on_file_system(path, "remove", [&](std::error_code& e) { fs::remove_all(path, e); });
}
void write_file(Call& c) {
  io::AtomicFile file(c.string(1, "path"));
  file.write(c.string(2, "text"));
  file.commit();
}

// JSON has no nan and no inf: a metric that is one becomes null.
void drop_nonfinite(io::Value& v) {
  if (const auto* d = v.get<double>(); d && !std::isfinite(*d)) v = {};
  if (auto* t = v.get<io::Table>()) {
    for (io::Value& one : t->list) drop_nonfinite(one);
    for (auto& [key, one] : t->fields) drop_nonfinite(one);
  }
}

void json_encode(Call& c) {
  std::vector<Tensor> tensors;
  io::Value v = to_file(c.value(1), tensors);
  drop_nonfinite(v);
  if (!tensors.empty()) throw type_error("JSON can't hold tensors");
  c.give(io::dump_json(v));
}
void json_decode(Call& c) { c.give(from_file(io::parse_json(c.string(1, "text")), {})); }

}  // namespace

void bind_files(Interpreter& in) {
  static constexpr NativeEntry functions[] = {
      {"io.safetensors", open_safetensors}, {"io.npy", npy}, {"io.npz", npz}};
  lua::define_outside(in, "rille", functions);
  static constexpr NativeEntry natives[] = {
      {"idx", idx},       {"text", text}, {"exists", exists},         {"is_file", is_file},
      {"mkdirs", mkdirs}, {"list", list}, {"remove_all", remove_all}, {"write_file", write_file}};
  lua::define_outside(in, "rille.native", natives);
  static constexpr NativeEntry texts[] = {{"json_encode", json_encode},
                                          {"json_decode", json_decode}};
  lua::define_functions(in, "rille.native", texts);
  static constexpr NativeEntry methods[] = {
      {"names", reader_names}, {"get", reader_get}, {"metadata", reader_metadata}};
  lua::define_class(in, "rille.Safetensors", methods);
}

}  // namespace rille::bind
