#include "core/sizes.h"

#include "core/fail.h"

namespace rille {

void sizes::fail(int64_t a, char sign, int64_t b) {
  throw shape_error("a size does not fit 64 bits: {} {} {}", a, sign, b);
}

int64_t numel_of_dims(const Shape& shape, int first, int last) {
  Checked n(1);
  for (int d = first; d < std::min(last, shape.size()); ++d) n *= shape[d];
  return n;
}

int64_t whole_size(double value) {
  if (!(value > -0x1p63 && value < 0x1p63))
    throw shape_error("a size does not fit 64 bits: {}", value);
  return static_cast<int64_t>(value);
}

int64_t window_room(int64_t n, int64_t kernel, int64_t dilation, int64_t begin, int64_t end) {
  const Checked padded = Checked(n) + begin + end, window = Checked(dilation) * (kernel - 1) + 1;
  if (padded > kMaxBytes || window > kMaxBytes)
    throw shape_error("a window of {} over {} elements is too large", window, padded);
  return padded - window;
}

Reach reach(const Shape& shape, const Strides& strides, int64_t offset) {
  Checked first(offset), last(offset);
  bool empty = false;
  for (int d = 0; d < shape.size(); ++d) {
    empty |= shape[d] == 0;
    const Checked span = Checked(strides[d]) * std::max<int64_t>(shape[d] - 1, 0);
    (span < 0 ? first : last) += span;
  }
  (void)(last - first + 1);  // their number fits, too
  return empty ? Reach{offset, Checked(offset) - 1} : Reach{first, last};
}

}  // namespace rille
