#include "core/shape.h"

#include "core/fail.h"

namespace rille {

void Dims::make_room() {
  if (n_ == kMaxRank) throw shape_error("a tensor has at most {} dims", kMaxRank);
  if (n_ > kInPlace) return;  // there already, with room for all
  int64_t* room = new int64_t[kMaxRank];
  std::copy_n(near_.values, n_, room);
  far_ = room;
}

void Dims::copy_far(const Dims& o) {
  n_ = 0;  // nothing to release should the allocation fail
  far_ = new int64_t[kMaxRank];
  n_ = o.n_;
  std::copy_n(o.far_, n_, far_);
}

void Dims::insert(int at, int64_t v) {
  push_back(v);
  std::rotate(begin() + at, end() - 1, end());
}

void Dims::erase(int at) {
  std::copy(begin() + at + 1, end(), begin() + at);
  if (n_ == kInPlace + 1) {
    int64_t* room = far_;
    std::copy_n(room, kInPlace, near_.values);
    delete[] room;
  }
  --n_;
}

std::string to_string(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }

int64_t checked_numel(const Shape& shape, size_t item_size) {
  // Zero dims count as one for the limit, so that [2^62, 0] is refused whatever the order of dims.
  int64_t n = 1, bytes = 0;
  bool empty = false, overflows = false;
  for (int64_t d : shape) {
    if (d < 0) throw shape_error("sizes must not be negative, got {}", to_string(shape));
    empty |= d == 0;
    overflows |= __builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n);
  }
  overflows |= __builtin_mul_overflow(n, static_cast<int64_t>(item_size), &bytes);
  if (overflows || bytes > kMaxBytes)
    throw shape_error("a tensor of shape {} is too large", to_string(shape));
  return empty ? 0 : n;
}

Strides contiguous_strides(const Shape& shape) {
  Strides s = Dims::filled(shape.size(), 1);
  int64_t step = 1;
  for (int i = shape.size() - 1; i > 0; --i) s[i - 1] = step *= std::max<int64_t>(shape[i], 1);
  return s;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  int64_t want = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != want) return false;
    want *= shape[i];
  }
  return true;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  int order[kMaxRank], n = 0;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1) order[n++] = i;
  }
  std::sort(order, order + n, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t want = 1;
  for (int i = 0; i < n; ++i) {
    if (strides[order[i]] != want) return false;
    want *= shape[order[i]];
  }
  return true;
}

Shape broadcast(const Shape& a, const Shape& b) {
  if (a == b) return a;
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    int64_t& d = out[i + shift];
    if (d == shorter[i] || shorter[i] == 1) continue;
    if (d != 1) throw shape_error("shapes {} and {} don't broadcast", to_string(a), to_string(b));
    d = shorter[i];
  }
  return out;
}

Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to) {
  Strides out = Dims::filled(to.size(), 0);
  const int shift = to.size() - from.size();
  for (int i = 0; i < from.size(); ++i)
    if (from[i] != 1 || to[i + shift] == 1) out[i + shift] = strides[i];
  return out;
}

int axis(int64_t dim, int rank) {
  const int64_t n = std::max(rank, 1);  // a 0-d tensor has one dim to name, as in PyTorch
  if (dim < -n || dim >= n) {
    // Told in the script's terms: dims count from 1 there.
    const int64_t shown = dim >= 0 && dim < INT64_MAX ? dim + 1 : dim;
    throw index_error("dim {} is out of range for a tensor of {} dim{}", shown, rank,
                      rank == 1 ? "" : "s");
  }
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

}  // namespace rille
