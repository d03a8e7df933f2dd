#include "ops/arrange.h"

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/movement.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/register.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

// The dims named, once each.
Dims named_dims(const Axes& dims, int rank) {
  Dims out;
  if (dims.all)
    for (int d = 0; d < rank; ++d) out.push_back(d);
  for (const int64_t given : dims.list) {
    const int64_t d = axis(given, rank);
    if (std::find(out.begin(), out.end(), d) != out.end())
      throw arg_error("dim {} is named twice", d + 1);
    out.push_back(d);
  }
  return out;
}

void check_matrices(const Tensor& x) {
  if (x.rank() < 2)
    throw shape_error("needs at least two dims, got shape {}", to_string(x.shape())).of("x");
}

}  // namespace

// ---- turned ------------------------------------------------------------------------------------

Meta Flip::infer(const Args& a) {
  named_dims(a.dims, a.x.rank());
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void Flip::cpu(const Args& a, Tensor& y) {
  if (y.numel() == 0) return;
  Strides strides = a.x.strides();
  int64_t offset = a.x.offset();
  if (a.x.rank() > 0)
    for (const int64_t given : named_dims(a.dims, a.x.rank())) {
      const int d = static_cast<int>(given);
      offset = Checked(strides[d]) * (y.shape()[d] - 1) + offset;
      strides[d] = -strides[d];
    }
  cpu::copy_strided(y, a.x.alias(y.shape(), strides, offset));
}
Flip::Args Flip::grad(const Back<Flip>& b) {
  return {.x = call<Flip>({.x = b.dy, .dims = b.a.dims}), .dims = {}};
}
void Flip::samples(SampleList& s) {
  add_sample<Flip>(s, {.x = grid({2, 3}, -1, 1), .dims = {0, -1}});
  add_sample<Flip>(s, {.x = strided(grid({2, 3}, -1, 1)), .dims = {1}});
  add_sample<Flip>(s, {.x = grid({0, 3}, -1, 1)});
  add_sample<Flip>(s, {.x = grid({}, -1, 1)});
}

namespace {

// How many places the k-th shift goes around, at least 1.
int64_t ring(const Roll::Args& a, int k) {
  const Tensor& x = a.x;
  if (a.dims.all || x.rank() == 0) return std::max<int64_t>(x.numel(), 1);
  return std::max<int64_t>(x.shape()[axis(a.dims.list[k], x.rank())], 1);
}

// For each dim by how much it moves, from 0 to its size - 1.
Dims roll_shifts(const Roll::Args& a) {
  const Dims dims = named_dims(a.dims, a.x.rank());
  if (!a.dims.all && dims.size() != a.shifts.list.size())
    throw arg_error("{} shifts for {} dims", a.shifts.list.size(), dims.size());
  if (a.dims.all && a.shifts.list.size() != 1 && a.x.rank() != 1)
    throw arg_error("needs dims for {} shifts", a.shifts.list.size());
  Dims out = Dims::filled(a.x.rank(), 0);
  for (int k = 0; k < dims.size() && k < a.shifts.list.size(); ++k) {
    const int d = static_cast<int>(dims[k]);
    const int64_t n = std::max<int64_t>(a.x.shape()[d], 1);
    out[d] = ((a.shifts.list[k] % n) + n) % n;
  }
  return out;
}

}  // namespace

Meta Roll::infer(const Args& a) {
  roll_shifts(a);
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void Roll::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (a.dims.all && a.x.rank() != 1) {
    Tensor flat = y.alias({y.numel()}, {1}, y.offset());
    return cpu({.x = reshape(a.x, {-1}), .shifts = a.shifts, .dims = {0}}, flat);
  }
  // Each dim that moves cuts the tensor in two: 2^k blocks, copied one by one.
  const Dims shifts = roll_shifts(a);
  Dims moving;
  for (int d = 0; d < y.rank(); ++d)
    if (shifts[d] != 0) moving.push_back(d);
  for (int block = 0; block < 1 << moving.size(); ++block) {
    Shape shape = y.shape();
    int64_t from = a.x.offset(), to = y.offset();
    for (int k = 0; k < moving.size(); ++k) {
      const int d = static_cast<int>(moving[k]);
      const int64_t head = y.shape()[d] - shifts[d];  // goes to the end
      const bool tail = block >> k & 1;
      shape[d] = tail ? shifts[d] : head;
      if (tail)
        from = Checked(head) * a.x.strides()[d] + from;
      else
        to = Checked(shifts[d]) * y.strides()[d] + to;
    }
    cpu::copy_strided(y.alias(shape, y.strides(), to), a.x.alias(shape, a.x.strides(), from));
  }
}
Roll::Args Roll::grad(const Back<Roll>& b) {
  Dims back = b.a.shifts.list;
  for (int k = 0; k < back.size(); ++k) back[k] = -(back[k] % ring(b.a, k));
  return {.x = call<Roll>({.x = b.dy, .shifts = PerDim(back), .dims = b.a.dims}),
          .shifts = {},
          .dims = {}};
}
void Roll::samples(SampleList& s) {
  add_sample<Roll>(s, {.x = grid({2, 3}, -1, 1), .shifts = {2}, .dims = {}});
  add_sample<Roll>(s, {.x = strided(grid({3, 4}, -1, 1)), .shifts = {1, -5}, .dims = {0, 1}});
  add_sample<Roll>(s, {.x = grid({5}, -1, 1), .shifts = {-2}, .dims = {}});
  add_sample<Roll>(s, {.x = grid({0, 2}, -1, 1), .shifts = {1}, .dims = {0}});
}

Tensor Rot90::compose(const Args& a) {
  const Dims plane = named_dims(a.dims, a.x.rank());
  if (a.x.rank() < 2 || plane.size() != 2) throw shape_error("needs two dims to turn in").of("x");
  const int64_t k = ((a.k % 4) + 4) % 4, i = plane[0], j = plane[1];
  if (k == 0) return clone(a.x);
  if (k == 1) return transpose(flip(a.x, j), i, j);
  if (k == 2) return flip(flip(a.x, i), j);
  return flip(transpose(a.x, i, j), j);
}
void Rot90::samples(SampleList& s) {
  for (int64_t k = -1; k < 4; ++k) add_sample<Rot90>(s, {.x = grid({2, 3}, -1, 1), .k = k});
  add_sample<Rot90>(s, {.x = grid({2, 2, 3}, -1, 1), .k = 1, .dims = {2, 1}});
}

Meta Tril::infer(const Args& a) {
  check_matrices(a.x);
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void Tril::cpu(const Args& a, Tensor& y) { cpu::keep_band(y, a.x, INT64_MIN, a.k); }
Tril::Args Tril::grad(const Back<Tril>& b) { return {.x = call<Tril>({.x = b.dy, .k = b.a.k})}; }
void Tril::samples(SampleList& s) {
  add_sample<Tril>(s, {.x = grid({3, 4}, -1, 1)});
  add_sample<Tril>(s, {.x = strided(grid({2, 3, 3}, -1, 1)), .k = -1});
  add_sample<Tril>(s, {.x = grid({0, 4}, -1, 1), .k = 1});
}

Meta Triu::infer(const Args& a) {
  check_matrices(a.x);
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void Triu::cpu(const Args& a, Tensor& y) { cpu::keep_band(y, a.x, a.k, INT64_MAX); }
Triu::Args Triu::grad(const Back<Triu>& b) { return {.x = call<Triu>({.x = b.dy, .k = b.a.k})}; }
void Triu::samples(SampleList& s) {
  add_sample<Triu>(s, {.x = grid({3, 4}, -1, 1)});
  add_sample<Triu>(s, {.x = strided(grid({2, 3, 3}, -1, 1)), .k = 1});
  add_sample<Triu>(s, {.x = grid({2, 0}, -1, 1), .k = -1});
}

// ---- diagonals ---------------------------------------------------------------------------------

Tensor DiagEmbed::compose(const Args& a) {
  if (a.x.rank() == 0) throw shape_error("needs at least one dim, got shape []").of("x");
  const int rank = a.x.rank() + 1;
  const int i = axis(a.dim1.value, rank), j = axis(a.dim2.value, rank);
  if (i == j) throw arg_error("dim1 and dim2 must differ, both are {}", i + 1);
  const Checked off(a.offset);
  const int64_t side = (off < 0 ? -off : off) + a.x.size(-1);
  Shape shape = a.x.shape();
  shape.erase(shape.size() - 1);
  shape.insert(std::min(i, j), side);
  shape.insert(std::max(i, j), side);
  return place(
      a.x, shape,
      Diagonal::view(
          {.x = outline(shape, a.x.dtype()), .offset = a.offset, .dim1 = {i}, .dim2 = {j}}));
}
void DiagEmbed::samples(SampleList& s) {
  add_sample<DiagEmbed>(s, {.x = grid({2, 3}, -1, 1)});
  add_sample<DiagEmbed>(
      s, {.x = strided(grid({2, 3}, -1, 1)), .offset = -1, .dim1 = {0}, .dim2 = {2}});
  add_sample<DiagEmbed>(s, {.x = grid({0}, -1, 1), .offset = 1});
}

Tensor Diag::compose(const Args& a) {
  if (a.x.rank() == 1) return call<DiagEmbed>({.x = a.x, .offset = a.offset});
  if (a.x.rank() != 2)
    throw shape_error("needs one or two dims, got shape {}", to_string(a.x.shape())).of("x");
  return clone(call<Diagonal>({.x = a.x, .offset = a.offset}));
}
void Diag::samples(SampleList& s) {
  add_sample<Diag>(s, {.x = grid({3}, -1, 1), .offset = 1});
  add_sample<Diag>(s, {.x = strided(grid({3, 4}, -1, 1)), .offset = -1});
}

Tensor DiagFlat::compose(const Args& a) {
  return call<DiagEmbed>({.x = reshape(a.x, {-1}), .offset = a.offset});
}
void DiagFlat::samples(SampleList& s) {
  add_sample<DiagFlat>(s, {.x = grid({2, 2}, -1, 1)});
  add_sample<DiagFlat>(s, {.x = grid({}, -1, 1), .offset = -1});
}

// ---- padding -----------------------------------------------------------------------------------

namespace {

// Elements added before and after each dim, from the first dim on.
struct Margins {
  Dims before, after, size;  // size: of the result
};

Margins margins_of(const Tensor& x, const std::vector<int64_t>& pads) {
  const int n = static_cast<int>(pads.size());
  if (n % 2 != 0) throw arg_error("pads come in pairs, got {}", n);
  if (n / 2 > x.rank()) throw arg_error("pads for {} dims, but x has {}", n / 2, x.rank()).of("x");
  Margins m{Dims::filled(x.rank(), 0), Dims::filled(x.rank(), 0), x.shape()};
  for (int k = 0; k < n / 2; ++k) {
    m.before[x.rank() - 1 - k] = pads[static_cast<size_t>(2 * k)];
    m.after[x.rank() - 1 - k] = pads[static_cast<size_t>(2 * k) + 1];
  }
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t size = x.shape()[d];
    const bool takes_all = m.before[d] < -size || m.after[d] < -size;
    if (!takes_all) m.size[d] = Checked(size) + m.before[d] + m.after[d];
    if (takes_all || m.size[d] < 0)
      throw shape_error("{} and {} take more from dim {} than its {}", m.before[d], m.after[d],
                        d + 1, size)
          .of("x");
  }
  return m;
}

// Position p of a dim of n elements that goes on beyond its ends.
int64_t folded(int64_t p, int64_t n, Pad::Mode mode) {
  if (mode == Pad::Mode::replicate) return std::clamp<int64_t>(p, 0, n - 1);
  if (mode == Pad::Mode::circular) return ((p % n) + n) % n;
  if (p < 0) return -p;
  return p < n ? p : Checked(n - 1) * 2 - p;
}

// What goes on beyond its ends: a circle closes where it was cut, the others are the whole dim.
struct Core {
  int64_t first, size;
};
Core core_of(const Margins& m, int d, int64_t n, Pad::Mode mode) {
  if (mode != Pad::Mode::circular) return {0, n};
  const int64_t first = std::max<int64_t>(-m.before[d], 0);
  const int64_t size = n - first - std::max<int64_t>(-m.after[d], 0);
  if (size <= 0 && m.size[d] > 0)
    throw shape_error("'circular' needs elements left in dim {}, but all {} are cut off", d + 1, n)
        .of("x");
  return {first, size};
}

void check_margin(int64_t pad, int64_t n, int dim, Pad::Mode mode) {
  using Mode = Pad::Mode;
  const int64_t most = mode == Mode::reflect ? n - 1 : mode == Mode::circular ? n : n > 0 ? pad : 0;
  if (pad > most)
    throw shape_error("'{}' adds at most {} to dim {} of size {}, got {}",
                      names_of(mode)[static_cast<size_t>(mode)], most, dim + 1, n, pad)
        .of("x");
}

}  // namespace

Tensor Pad::compose(const Args& a) {
  if (a.mode == Mode::constant)
    return call<ConstantPad>({.x = a.x, .pads = a.pads, .value = a.value});
  const Margins m = margins_of(a.x, a.pads.list);
  Tensor y = a.x;
  for (int d = 0; d < a.x.rank(); ++d) {
    if (m.before[d] == 0 && m.after[d] == 0) continue;
    const int64_t n = a.x.shape()[d];
    check_margin(m.before[d], n, d, a.mode);
    check_margin(m.after[d], n, d, a.mode);
    const Tensor ids = Tensor::empty({m.size[d]}, DType::i64);
    const Core core = core_of(m, d, n, a.mode);
    Poll poll;
    for (int64_t i = 0; i < ids.numel(); ++i, poll(1))
      ids.data_as<int64_t>()[i] =
          core.first + folded(i - m.before[d] - core.first, core.size, a.mode);
    y = index_select(y, d, to_device(ids, y.device()));
  }
  return y.is(a.x) ? clone(y) : y;
}
void Pad::samples(SampleList& s) {
  add_sample<Pad>(s, {.x = grid({2, 3}, -1, 1), .pads = {1, 2}, .value = 7});
  add_sample<Pad>(s,
                  {.x = strided(grid({3, 3}, -1, 1)), .pads = {1, 2, 0, 1}, .mode = Mode::reflect});
  add_sample<Pad>(s, {.x = grid({2, 3}, -1, 1), .pads = {2, -1}, .mode = Mode::replicate});
  add_sample<Pad>(s, {.x = grid({2, 3}, -1, 1), .pads = {2, 0, 1, 1}, .mode = Mode::circular});
  add_sample<Pad>(s, {.x = grid({2, 4}, -1, 1), .pads = {-1, 2}, .mode = Mode::circular});
}

Meta ConstantPad::infer(const Args& a) {
  return meta_of(margins_of(a.x, a.pads.list).size, a.x.dtype(), a.x);
}
void ConstantPad::cpu(const Args& a, Tensor& y) {
  const Margins m = margins_of(a.x, a.pads.list);
  // Slab by slab: what lies before and after dim d, inside of the dims before it.
  Shape shape = y.shape();
  int64_t to = y.offset(), from = a.x.offset();
  for (int d = 0; d < shape.size(); ++d) {
    const int64_t n = y.shape()[d], left = std::clamp<int64_t>(m.before[d], 0, n);
    const int64_t right = std::clamp<int64_t>(m.after[d], 0, n - left);
    for (const auto& [start, length] : {std::pair(int64_t{0}, left), std::pair(n - right, right)}) {
      shape[d] = length;
      if (length > 0)
        fill(y.alias(shape, y.strides(), Checked(start) * y.strides()[d] + to), a.value);
    }
    shape[d] = n - left - right;
    to = Checked(left) * y.strides()[d] + to;
    from = Checked(std::max<int64_t>(-m.before[d], 0)) * a.x.strides()[d] + from;
  }
  cpu::copy_strided(y.alias(shape, y.strides(), to), a.x.alias(shape, a.x.strides(), from));
}
ConstantPad::Args ConstantPad::grad(const Back<ConstantPad>& b) {
  std::vector<int64_t> back = b.a.pads.list;
  for (int64_t& n : back) n = -n;
  return {.x = pad(b.dy, back), .pads = {}};
}
void ConstantPad::samples(SampleList& s) {
  add_sample<ConstantPad>(s, {.x = grid({2, 3}, -1, 1), .pads = {1, 2}, .value = 7});
  add_sample<ConstantPad>(s, {.x = strided(grid({3, 4}, -1, 1)), .pads = {-1, 2, 1, -2}});
  add_sample<ConstantPad>(s, {.x = grid({0, 2}, -1, 1), .pads = {0, 0, 1, 1}, .value = 3});
  add_sample<ConstantPad>(s, {.x = grid({}, -1, 1), .pads = {}});
}

// ---- images ------------------------------------------------------------------------------------

Tensor PixelShuffle::compose(const Args& a) {
  const int rank = a.x.rank();
  const int64_t r = a.factor;
  if (r < 1) throw arg_error("factor must be at least 1, got {}", r);
  const int64_t square = Checked(r) * r;
  if (rank < 3 || a.x.size(-3) % square != 0)
    throw shape_error("needs [..., c, h, w] with c divisible by {}, got {}", square,
                      to_string(a.x.shape()))
        .of("x");
  const int64_t c = a.x.size(-3) / square, h = a.x.size(-2), w = a.x.size(-1);
  const int64_t n = numel_of_dims(a.x.shape(), 0, rank - 3);
  Shape out(a.x.shape().begin(), a.x.shape().end() - 3);
  for (const int64_t d : {c, int64_t{Checked(h) * r}, int64_t{Checked(w) * r}}) out.push_back(d);
  return reshape(permute(reshape(a.x, {n, c, r, r, h, w}), {0, 1, 4, 2, 5, 3}), out);
}
void PixelShuffle::samples(SampleList& s) {
  add_sample<PixelShuffle>(s, {.x = grid({1, 4, 2, 3}, -1, 1), .factor = 2});
  add_sample<PixelShuffle>(s, {.x = grid({4, 1, 2}, -1, 1), .factor = 2});
}

Tensor PixelUnshuffle::compose(const Args& a) {
  const int rank = a.x.rank();
  const int64_t r = a.factor;
  if (r < 1) throw arg_error("factor must be at least 1, got {}", r);
  if (rank < 3 || a.x.size(-2) % r != 0 || a.x.size(-1) % r != 0)
    throw shape_error("needs [..., c, h, w] with h and w divisible by {}, got {}", r,
                      to_string(a.x.shape()))
        .of("x");
  const int64_t c = a.x.size(-3), h = a.x.size(-2) / r, w = a.x.size(-1) / r;
  const int64_t n = numel_of_dims(a.x.shape(), 0, rank - 3);
  Shape out(a.x.shape().begin(), a.x.shape().end() - 3);
  for (const int64_t d : {int64_t{Checked(c) * r * r}, h, w}) out.push_back(d);
  return reshape(permute(reshape(a.x, {n, c, h, r, w, r}), {0, 1, 3, 5, 2, 4}), out);
}
void PixelUnshuffle::samples(SampleList& s) {
  add_sample<PixelUnshuffle>(s, {.x = grid({1, 2, 4, 2}, -1, 1), .factor = 2});
  add_sample<PixelUnshuffle>(s, {.x = grid({1, 2, 4}, -1, 1), .factor = 2});
}

Tensor ChannelShuffle::compose(const Args& a) {
  if (a.x.rank() < 2 || a.groups < 1 || a.x.size(1) % a.groups != 0)
    throw shape_error("needs [n, c, ...] with c divisible by {} groups, got {}", a.groups,
                      to_string(a.x.shape()))
        .of("x");
  const int64_t n = a.x.size(0), c = a.x.size(1), rest = numel_of_dims(a.x.shape(), 2);
  return reshape(transpose(reshape(a.x, {n, a.groups, c / a.groups, rest}), 1, 2), a.x.shape());
}
void ChannelShuffle::samples(SampleList& s) {
  add_sample<ChannelShuffle>(s, {.x = grid({1, 4, 2, 2}, -1, 1), .groups = 2});
}

// ---- for other ops -----------------------------------------------------------------------------

Tensor pad(const Tensor& x, const std::vector<int64_t>& pads) {
  return call<ConstantPad>({.x = x, .pads = Counts(pads)});
}
Tensor flip(const Tensor& x, int64_t dim) { return call<Flip>({.x = x, .dims = {dim}}); }

OpFamily family_arrange() {
  return list_ops(OpList<Flip, Roll, Rot90, Tril, Triu, DiagEmbed, Diag, DiagFlat, Pad, ConstantPad,
                         PixelShuffle, PixelUnshuffle, ChannelShuffle>{},
                  "arrange");
}

}  // namespace rille
