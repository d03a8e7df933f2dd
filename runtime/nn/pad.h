// Padding as layers: elements added before and after along the last dims, 1 to 3 of them by the
// name. One number stands for all sides; a list holds before and after, the last dim first.
#pragma once
#include "nn/layer.h"
#include "ops/arrange.h"
#include "ops/op.h"

namespace rille::nn {

enum class PadKind { zero, constant, reflection, replication, circular };

constexpr std::string_view pad_name(PadKind kind, int dims) {
  constexpr std::string_view names[5][3] = {
      {"ZeroPad1d", "ZeroPad2d", "ZeroPad3d"},
      {"ConstantPad1d", "ConstantPad2d", "ConstantPad3d"},
      {"ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d"},
      {"ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d"},
      {"CircularPad1d", "CircularPad2d", "CircularPad3d"}};
  return names[static_cast<size_t>(kind)][dims - 1];
}

struct PadOptions {
  Counts pads;
  double value = 0;
};
template <PadKind K>
constexpr auto pad_fields() {
  const auto pads =
      field("pads", &PadOptions::pads,
            "all sides, or before and after the last dim, then the one before it, ...")
          .required();
  if constexpr (K == PadKind::constant)
    return Fields{pads, field("value", &PadOptions::value, "what is added")};
  else
    return Fields{pads};
}

template <PadKind K, int N>
struct PadLayer {
  using Options = PadOptions;
  static constexpr std::string_view name = pad_name(K, N);
  static constexpr std::string_view doc =
      K == PadKind::zero          ? "x with zeros added before and after along its last dims."
      : K == PadKind::constant    ? "x with a constant added before and after along its last dims."
      : K == PadKind::reflection  ? "x with its mirror image added along its last dims."
      : K == PadKind::replication ? "x with its edges repeated along its last dims."
                                  : "x with its other end added along its last dims.";
  static constexpr auto fields = pad_fields<K>();

  Options options;

  explicit PadLayer(const Options& o);
  Slots tensors() { return {}; }
  Tensor forward(const Tensor& x) const;
};

}  // namespace rille::nn
