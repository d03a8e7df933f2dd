// The engine's layers for rille.nn: a module of scripts is a table whose fields are the tensors,
// the layer behind it knows options, initialisation and what forward does with them.
#include "nn/layer.h"

#include "autograd/node.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/field_call.h"
#include "nn/set_data.h"

namespace rille::bind {
namespace {

class LayerObject final : public lua::FieldCall {
 public:
  static constexpr std::string_view kWhat = "a layer";
  explicit LayerObject(const nn::LayerInfo& info, const void* options)
      : info_(info), layer_(info.make(options)), slots_(info.tensors(layer_.get())) {
    for (const nn::Slot& s : slots_) {
      names_.push_back(s.name);
      ranks_.push_back(*s.tensor ? s.tensor->rank() : kNone);
    }
  }
  std::string_view type() const override { return "rille.Layer"; }
  const OpInfo& inputs() const override { return info_.inputs; }
  int results() const override { return info_.results; }
  std::span<const std::string> fields() const override { return names_; }
  void call(std::span<const Tensor> tensors, const void* inputs, bool training,
            Results& out) override {
    for (size_t i = 0; i < slots_.size(); ++i) {
      check(i, tensors[i]);
      *slots_[i].tensor = tensors[i];
    }
    info_.forward(layer_.get(), inputs, training, out);
  }
  /// Parameters or buffers as { name, tensor } in order.
  Table list(bool buffers) const {
    Table out;
    for (const nn::Slot& s : slots_) {
      if (s.is_buffer != buffers || !*s.tensor) continue;
      Table entry;
      entry.list = {s.name, *s.tensor};
      out.list.emplace_back(std::move(entry));
    }
    return out;
  }
  std::string text() const { return nn::layer_text(info_, info_.options_of(layer_.get())); }

 private:
  static constexpr int kNone = -1;

  // Fields are a script's to change. What forward takes apart without asking must still be there,
  // of the rank it was made with.
  void check(size_t i, const Tensor& t) const {
    if (ranks_[i] == kNone) return;
    if (!t)
      throw arg_error("the layer was made with a '{}' and has none now", names_[i]).of(names_[i]);
    if (t.rank() != ranks_[i])
      throw shape_error("'{}' was made with {} dims, it has {} now", names_[i], ranks_[i], t.rank())
          .of(names_[i]);
  }

  const nn::LayerInfo& info_;
  std::shared_ptr<void> layer_;
  nn::Slots slots_;
  std::vector<std::string> names_;
  std::vector<int> ranks_;  // of what the layer was made with, kNone where it was made without
};

// native.layer(kind, options)
void layer(Call& c) {
  const std::string kind = c.string(1, "kind");
  const nn::LayerInfo* info = nn::find_layer(kind);
  if (!info) throw arg_error("there is no layer '{}'", kind).op("layer");
  try {
    const ArgBlock options(info->options);
    c.options(2, info->options, options.get());
    c.give(lua::ObjectRef(std::make_shared<LayerObject>(*info, options.get())));
  } catch (Error& e) {
    e.op(kind);
    throw;
  }
}

void layer_text(Call& c) { c.give(c.object<LayerObject>(1, "layer")->text()); }

// layer.parameters and layer.buffers
void layer_field(Call& c) {
  const auto self = c.object<LayerObject>(1, "self");
  const std::string key = c.is_string(2) ? c.string(2, "key") : "";
  if (key == "parameters" || key == "buffers") c.give(self->list(key == "buffers"));
}

// native.set_data(t, other)
void set_data(Call& c) { nn::set_data(c.tensor(1, "t"), c.tensor(2, "other")); }

}  // namespace

void bind_nn(Interpreter& in) {
  static constexpr NativeEntry natives[] = {
      {"layer", layer}, {"layer_text", layer_text}, {"set_data", set_data}};
  lua::define_functions(in, "rille.native", natives);
  lua::define_field_call(in, "rille.native", "layer_forward");
  static constexpr NativeEntry metamethods[] = {{"__index", layer_field}};
  lua::define_class(in, "rille.Layer", {}, metamethods);
}

}  // namespace rille::bind
