#include "nn/pad.h"

#include "core/fail.h"
#include "nn/register.h"

namespace rille::nn {
namespace {

constexpr Pad::Mode mode_of(PadKind k) {
  switch (k) {
    case PadKind::reflection: return Pad::Mode::reflect;
    case PadKind::replication: return Pad::Mode::replicate;
    case PadKind::circular: return Pad::Mode::circular;
    default: return Pad::Mode::constant;
  }
}

template <PadKind K>
LayerFamily of_kind() {
  return list_layers<PadLayer<K, 1>, PadLayer<K, 2>, PadLayer<K, 3>>();
}

}  // namespace

template <PadKind K, int N>
PadLayer<K, N>::PadLayer(const Options& o) : options(o) {
  // Written out, so that the text of the layer shows what each side gets.
  if (o.pads.list.size() == 1) options.pads.list.assign(2 * N, o.pads.list[0]);
}
template <PadKind K, int N>
Tensor PadLayer<K, N>::forward(const Tensor& x) const {
  return call<Pad>({.x = x, .pads = options.pads, .mode = mode_of(K), .value = options.value});
}

LayerFamily layers_pad() {
  LayerFamily out;
  for (LayerFamily (*kind)() :
       {of_kind<PadKind::zero>, of_kind<PadKind::constant>, of_kind<PadKind::reflection>,
        of_kind<PadKind::replication>, of_kind<PadKind::circular>}) {
    const LayerFamily part = kind();
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

}  // namespace rille::nn
