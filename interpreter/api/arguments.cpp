// From the host's values to an op's argument struct, field by field, and the call.
#include "rille/arguments.hpp"

#include <fmt/format.h>

#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/schemas.h"
#include "ops/op.h"

namespace rille::api {
namespace {

// The tensors that an error is about, as facts: the host has no script to show them in.
void add_facts(Error& e, const OpInfo& op, const void* args) {
  const auto& about = e.about();
  each_tensor(op, args, [&](size_t f, const Tensor& t) {
    const std::string_view name = op.fields[f].name;
    const bool meant = about.empty() || std::find(about.begin(), about.end(), name) != about.end();
    if (meant && !t.is_number()) e.fact(fmt::format("{:<12} {}", name, describe(t)));
  });
}

// Runs `f` on the engine's arguments; its errors name the tensors.
template <class F>
void run(const v1::detail::Arguments& a, F&& f) {
  const OpInfo& op = op_of(a.schema());
  guarded(op.name, [&] {
    try {
      f(op);
    } catch (Error& e) {
      add_facts(e, op, a.values());
      throw;
    }
  });
}

int choice_of(const FieldInfo& f, std::string_view text) {
  for (size_t k = 0; k < f.choices.size(); ++k)
    if (f.choices[k] == text) return static_cast<int>(k);
  throw arg_error("'{}' must be {}, got '{}'", f.name, expected_text(f), text);
}

// One value on its way into a field.
class Slot {
 public:
  Slot(const v1::detail::Schema& schema, void* values, size_t& next)
      : op_(op_of(schema)), values_(values), next_(next) {}

  /// Calls `f(field)` for the field that comes next; errors name the op.
  template <class F>
  void fill(F&& f) {
    guarded(op_.name, [&] {
      if (next_ >= op_.fields.size()) mismatch();
      f(op_.fields[next_++]);
    });
  }
  template <class T>
  T& at(const FieldInfo& f) {
    return *reinterpret_cast<T*>(static_cast<char*>(values_) + f.offset);
  }
  [[noreturn]] void mismatch() const {
    throw internal_error("the headers of '{}' are not of this library's version", op_.name);
  }

 private:
  const OpInfo& op_;
  void* values_;
  size_t& next_;
};

Tensor given(const FieldInfo& f, const v1::Tensor& t) {
  if (!t) throw type_error("'{}' is an empty tensor", f.name).hint("a default-made Tensor is none");
  return maybe_tensor_of(t);
}

}  // namespace
}  // namespace rille::api

namespace rille::v1::detail {

using api::Slot;

Arguments::Arguments(const Schema& schema) : schema_(schema) {
  const OpInfo& op = api::op_of(schema);
  api::guarded(op.name, [&] {
    const auto release = [](void* p) { ::operator delete(p, std::align_val_t(16)); };
    std::unique_ptr<void, decltype(release)> room(
        ::operator new(op.args_size, std::align_val_t(16)), release);
    op.construct(room.get());
    values_ = room.release();
  });
}
Arguments::~Arguments() {
  api::op_of(schema_).destroy(values_);
  ::operator delete(values_, std::align_val_t(16));
}

Arguments& Arguments::put(const Tensor& v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind == ArgKind::tensor)
      s.at<rille::Tensor>(f) = api::given(f, v);
    else if (f.kind != ArgKind::maybe_tensor)
      s.mismatch();
    else if (v)
      s.at<std::optional<rille::Tensor>>(f) = api::maybe_tensor_of(v);
  });
  return *this;
}
Arguments& Arguments::put(const Operand& v) { return put(v.tensor()); }
Arguments& Arguments::put(const std::optional<Operand>& v) {
  return put(v ? v->tensor() : Tensor());
}

Arguments& Arguments::put(const std::vector<Tensor>& v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind != ArgKind::tensors) s.mismatch();
    auto& list = s.at<std::vector<rille::Tensor>>(f);
    list.clear();
    for (const Tensor& t : v) list.push_back(api::given(f, t));
  });
  return *this;
}

Arguments& Arguments::put(double v) { return put(std::optional(v)); }
Arguments& Arguments::put(std::optional<double> v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind == ArgKind::maybe_number)
      s.at<std::optional<double>>(f) = v;
    else if (f.kind == ArgKind::number && v)
      s.at<double>(f) = *v;
    else
      s.mismatch();
  });
  return *this;
}
Arguments& Arguments::put(const std::vector<double>& v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind != ArgKind::numbers) s.mismatch();
    s.at<std::vector<double>>(f) = v;
  });
  return *this;
}

Arguments& Arguments::put(int64_t v) { return put(std::optional(v)); }
Arguments& Arguments::put(std::optional<int64_t> v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    const auto need = [&] { return v ? *v : (s.mismatch(), 0); };
    switch (f.kind) {
      case ArgKind::integer: s.at<int64_t>(f) = need(); break;
      case ArgKind::axis: s.at<Axis>(f) = {need()}; break;
      case ArgKind::position: s.at<Position>(f) = {need()}; break;
      case ArgKind::maybe_integer: s.at<std::optional<int64_t>>(f) = v; break;
      case ArgKind::maybe_axis:
        s.at<std::optional<Axis>>(f) = v ? std::optional(Axis{*v}) : std::nullopt;
        break;
      case ArgKind::maybe_position:
        s.at<std::optional<Position>>(f) = v ? std::optional(Position{*v}) : std::nullopt;
        break;
      default: s.mismatch();
    }
  });
  return *this;
}

Arguments& Arguments::put(bool v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind != ArgKind::boolean) s.mismatch();
    s.at<bool>(f) = v;
  });
  return *this;
}

Arguments& Arguments::put(std::string_view v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind == ArgKind::choice)
      s.at<int>(f) = api::choice_of(f, v);
    else if (f.kind == ArgKind::text)
      s.at<std::string>(f) = v;
    else
      s.mismatch();
  });
  return *this;
}

Arguments& Arguments::put(Dtype v) { return put(std::optional(v)); }
Arguments& Arguments::put(std::optional<Dtype> v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind == ArgKind::maybe_dtype)
      s.at<std::optional<DType>>(f) = v ? std::optional(api::dtype_of(*v)) : std::nullopt;
    else if (f.kind == ArgKind::dtype && v)
      s.at<DType>(f) = api::dtype_of(*v);
    else
      s.mismatch();
  });
  return *this;
}

Arguments& Arguments::put(std::optional<Device> v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind != ArgKind::maybe_device) s.mismatch();
    if (v) s.at<std::optional<rille::Device>>(f) = api::device_of(*v);
  });
  return *this;
}

Arguments& Arguments::put(const Axes& v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind != ArgKind::axes) s.mismatch();
    s.at<rille::Axes>(f) = v.all ? rille::Axes() : rille::Axes(api::shape_of(v.list));
  });
  return *this;
}

Arguments& Arguments::put(const Shape& v) { return put(std::optional(v)); }
Arguments& Arguments::put(const std::optional<Shape>& v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind == ArgKind::maybe_sizes)
      s.at<std::optional<Sizes>>(f) = v ? std::optional(Sizes(api::shape_of(*v))) : std::nullopt;
    else if (f.kind == ArgKind::sizes && v)
      s.at<Sizes>(f) = Sizes(api::shape_of(*v));
    else
      s.mismatch();
  });
  return *this;
}

Arguments& Arguments::put(const PerDim& v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind == ArgKind::per_dim)
      s.at<rille::PerDim>(f) = rille::PerDim(api::shape_of(v.list));
    else if (f.kind == ArgKind::counts)
      s.at<rille::Counts>(f) = rille::Counts(std::span<const int64_t>(v.list));
    else
      s.mismatch();
  });
  return *this;
}

Arguments& Arguments::put(const Padding& v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind != ArgKind::padding) s.mismatch();
    auto& to = s.at<rille::Padding>(f);
    if (v.word.empty())
      to = rille::Padding(api::shape_of(v.list));
    else if (v.word == "same" || v.word == "valid")
      to = rille::Padding(v.word == "same" ? rille::Padding::Word::same
                                           : rille::Padding::Word::valid);
    else
      throw arg_error("'{}' must be {}, got '{}'", f.name, expected_text(f), v.word);
  });
  return *this;
}

Arguments& Arguments::put(Generator* v) {
  Slot s(schema_, values_, next_);
  s.fill([&](const FieldInfo& f) {
    if (f.kind != ArgKind::draw) s.mismatch();
    if (v) s.at<Draw>(f) = {v->seed, v->next++, true};
  });
  return *this;
}

Arguments& Arguments::skip() {
  Slot(schema_, values_, next_).fill([](const FieldInfo&) {});
  return *this;
}

void call(const Arguments& a, Tensor* out, size_t count) {
  api::run(a, [&](const OpInfo& op) {
    Results results;
    call_erased(op, a.values(), results);
    if (results.size() != count)
      throw internal_error("{} results, where the headers expect {}", results.size(), count);
    for (size_t i = 0; i < count; ++i) out[i] = api::handle_of(std::move(results[i]));
  });
}

std::vector<Tensor> call_list(const Arguments& a) {
  std::vector<Tensor> out;
  api::run(a, [&](const OpInfo& op) {
    Results results;
    call_erased(op, a.values(), results);
    for (rille::Tensor& t : results) out.push_back(api::handle_of(std::move(t)));
  });
  return out;
}

Tensor call_in_place(const Arguments& a) {
  Tensor out;
  api::run(a,
           [&](const OpInfo& op) { out = api::handle_of(rille::call_in_place(op, a.values())); });
  return out;
}

}  // namespace rille::v1::detail
