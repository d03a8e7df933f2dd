#include "ops/op_info.h"

#include <fmt/format.h>

#include <new>

namespace rille {

std::string_view name(Autocast a) {
  constexpr std::string_view names[] = {"follow", "lower", "f32", "f32_out", "widest", "banned"};
  return names[static_cast<size_t>(a)];
}

// ---- argument blocks
// -----------------------------------------------------------------------------

namespace {
// Nearly all arguments fit the first size; the tape makes a block for every op it records.
struct alignas(16) SmallRoom {
  std::byte bytes[256];
};
void* room_for(const OpInfo& op) {
  if (op.args_size <= sizeof(SmallRoom)) return Pool<SmallRoom>::take();
  return ::operator new(op.args_size, std::align_val_t(16));
}
void free_room(const OpInfo& op, void* p) {
  if (op.args_size <= sizeof(SmallRoom))
    Pool<SmallRoom>::give(p);
  else
    ::operator delete(p, std::align_val_t(16));
}
}  // namespace

ArgBlock::ArgBlock(const OpInfo& op) : op_(&op), p_(room_for(op)) { op.construct(p_); }

ArgBlock::ArgBlock(const OpInfo& op, const void* copied) : op_(&op), p_(room_for(op)) {
  op.copy(p_, copied);
}

ArgBlock& ArgBlock::operator=(ArgBlock&& o) noexcept {
  std::swap(op_, o.op_);
  std::swap(p_, o.p_);
  return *this;
}

ArgBlock::~ArgBlock() {
  if (!op_) return;
  op_->destroy(p_);
  free_room(*op_, p_);
}

Sample& add_sample(SampleList& out, const OpInfo& op, const void* args) {
  return out.emplace_back(Sample{ArgBlock(op, args)});
}

// ---- words
// ---------------------------------------------------------------------------------------

namespace {

std::string list_text(const Dims& d) { return fmt::format("{{{}}}", fmt::join(d, ", ")); }
std::string per_dim_text(const Dims& d) {
  return d.size() == 1 ? fmt::format("{}", d[0]) : list_text(d);
}
template <class T>
const T& value_at(const FieldInfo& f, const void* args) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(args) + f.offset);
}

}  // namespace

namespace {

// A dim or position as scripts count it. The largest number is no place in any tensor.
int64_t from_one(int64_t place) { return place < 0 || place == INT64_MAX ? place : place + 1; }

}  // namespace

std::string value_text(const FieldInfo& f, const void* args) {
  switch (f.kind) {
    case ArgKind::number: return fmt::format("{:g}", value_at<double>(f, args));
    case ArgKind::integer: return fmt::format("{}", value_at<int64_t>(f, args));
    case ArgKind::boolean: return value_at<bool>(f, args) ? "true" : "false";
    case ArgKind::choice:
      return fmt::format("'{}'", f.choices[static_cast<size_t>(value_at<int>(f, args))]);
    case ArgKind::text: return fmt::format("'{}'", value_at<std::string>(f, args));
    case ArgKind::dtype: return fmt::format("'{}'", name(value_at<DType>(f, args)));
    case ArgKind::axis: {
      const int64_t a = value_at<Axis>(f, args).value;
      return fmt::format("{}", from_one(a));
    }
    case ArgKind::position: {
      const int64_t a = value_at<Position>(f, args).value;
      return fmt::format("{}", from_one(a));
    }
    case ArgKind::axes: {
      const Axes& a = value_at<Axes>(f, args);
      if (a.all) return "all";
      Dims shown = a.list;
      for (int64_t& d : shown) d = from_one(d);
      return per_dim_text(shown);
    }
    case ArgKind::sizes: return list_text(value_at<Sizes>(f, args).list);
    case ArgKind::per_dim: return per_dim_text(value_at<PerDim>(f, args).list);
    case ArgKind::padding: return per_dim_text(value_at<Padding>(f, args).list);
    case ArgKind::counts: {
      const auto& list = value_at<Counts>(f, args).list;
      return list.empty() ? "nil" : fmt::format("{{{}}}", fmt::join(list, ", "));
    }
    case ArgKind::numbers:
      return fmt::format("{{{:g}}}", fmt::join(value_at<std::vector<double>>(f, args), ", "));
    case ArgKind::maybe_number: {
      const auto& v = value_at<std::optional<double>>(f, args);
      return v ? fmt::format("{:g}", *v) : "nil";
    }
    case ArgKind::maybe_axis: {
      const auto& v = value_at<std::optional<Axis>>(f, args);
      return v ? fmt::format("{}", from_one(v->value)) : "nil";
    }
    case ArgKind::maybe_integer: {
      const auto& v = value_at<std::optional<int64_t>>(f, args);
      return v ? fmt::format("{}", *v) : "nil";
    }
    default: return "nil";
  }
}

std::string default_text(const OpInfo& op, const FieldInfo& f) {
  return value_text(f, ArgBlock(op).get());
}

std::string signature(const OpInfo& op) {
  std::string positional, options;
  for (const FieldInfo& f : op.fields) {
    if (f.kind == ArgKind::draw) continue;
    if (f.required) {
      positional += fmt::format("{}{}", positional.empty() ? "" : ", ", f.name);
      continue;
    }
    const std::string value = default_text(op, f);
    options += fmt::format("{}{}", options.empty() ? "" : ", ", f.name);
    if (value != "nil") options += " = " + value;
  }
  if (options.empty()) return fmt::format("{}({})", op.name, positional);
  return fmt::format("{}({}{}{{ {} }})", op.name, positional, positional.empty() ? "" : ", ",
                     options);
}

std::string expected_text(const FieldInfo& f) {
  switch (f.kind) {
    case ArgKind::tensor: return f.number_ok ? "a tensor or a number" : "a tensor";
    case ArgKind::maybe_tensor: return f.number_ok ? "a tensor or a number" : "a tensor";
    case ArgKind::tensors: return "a list of tensors";
    case ArgKind::number:
    case ArgKind::maybe_number: return "a number";
    case ArgKind::numbers: return "a list of numbers";
    case ArgKind::integer:
    case ArgKind::maybe_integer: return "an integer";
    case ArgKind::boolean: return "true or false";
    case ArgKind::text: return "a string";
    case ArgKind::choice: return fmt::format("'{}'", fmt::join(f.choices, "' or '"));
    case ArgKind::dtype:
    case ArgKind::maybe_dtype: return "a dtype such as 'f32'";
    case ArgKind::maybe_device: return "a device such as 'cpu'";
    case ArgKind::axis:
    case ArgKind::maybe_axis: return "a dim (from 1, or negative from the end)";
    case ArgKind::axes: return "a dim or a list of dims (from 1, or negative from the end)";
    case ArgKind::position:
    case ArgKind::maybe_position: return "a position (from 1, or negative from the end)";
    case ArgKind::sizes:
    case ArgKind::maybe_sizes: return "integers or a list of integers";
    case ArgKind::per_dim:
    case ArgKind::counts: return "an integer or a list of integers";
    case ArgKind::padding: return "an integer, a list of integers, 'same' or 'valid'";
    case ArgKind::draw: return "a generator";
  }
  return "?";
}

}  // namespace rille
