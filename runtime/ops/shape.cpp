#include "ops/shape.h"

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/movement.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/register.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

void check_any(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw arg_error("needs at least one tensor").of("tensors");
}

// An empty vector joins anything, as in PyTorch: code that starts from nothing and appends.
bool is_nothing(const Tensor& t) { return t.rank() == 1 && t.numel() == 0; }

const Tensor& model_of(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (!is_nothing(t)) return t;
  return tensors[0];
}

}  // namespace

// ---- joined ------------------------------------------------------------------------------------

Meta Cat::infer(const Args& a) {
  check_any(a.tensors);
  const Tensor& model = model_of(a.tensors);
  if (model.rank() == 0)
    throw shape_error("tensors without dims can't be joined").hint("stack makes a new dim");
  const int dim = axis(a.dim.value, model.rank());
  Shape shape = model.shape();
  shape[dim] = 0;
  DType dtype = a.tensors[0].dtype();
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor& t = a.tensors[i];
    dtype = promote(dtype, t.dtype());
    if (is_nothing(t) && model.rank() != 1) continue;
    bool fits = t.rank() == model.rank();
    for (int d = 0; fits && d < t.rank(); ++d) fits = d == dim || t.shape()[d] == shape[d];
    if (!fits)
      throw shape_error("shapes must agree but for dim {}, tensor {} has {}, others {}", dim + 1,
                        i + 1, to_string(t.shape()), to_string(model.shape()));
    shape[dim] = Checked(shape[dim]) + t.shape()[dim];
  }
  return meta_of(shape, dtype, model);
}
void Cat::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const int dim = axis(a.dim.value, y.rank());
  int64_t at = 0;
  for (const Tensor& t : a.tensors) {
    if (is_nothing(t) && y.rank() != 1) continue;
    const Tensor to = y.alias(t.shape(), y.strides(), Checked(at) * y.strides()[dim] + y.offset());
    cpu::copy_strided(to, cast(t, y.dtype()));
    at += t.shape()[dim];
  }
}
Cat::Args Cat::grad(const Back<Cat>& b) {
  const int dim = axis(b.a.dim.value, b.dy.rank());
  Args g;
  int64_t at = 0;
  for (const Tensor& t : b.a.tensors) {
    if (is_nothing(t) && b.dy.rank() != 1) {
      g.tensors.push_back(autograd::engine_ops().zeros_like(t));
      continue;
    }
    g.tensors.push_back(rille::narrow(b.dy, dim, at, t.shape()[dim]));
    at += t.shape()[dim];
  }
  return g;
}
void Cat::samples(SampleList& s) {
  add_sample<Cat>(s, {.tensors = {grid({2, 3}, -1, 1), grid({1, 3}, 2, 3)}});
  add_sample<Cat>(
      s, {.tensors = {strided(grid({2, 3}, -1, 1)), grid({2, 2}, 2, 3), grid({2, 0}, 2, 3)},
          .dim = {-1}});
  add_sample<Cat>(s, {.tensors = {grid({0}, -1, 1), grid({2, 2}, 2, 3)}, .dim = {1}});
  add_sample<Cat>(s, {.tensors = {grid({3}, -1, 1)}});
}

Tensor Stack::compose(const Args& a) {
  check_any(a.tensors);
  const Shape& shape = a.tensors[0].shape();
  const int dim = axis(a.dim.value, shape.size() + 1);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    if (a.tensors[i].shape() != shape)
      throw shape_error("shapes must be equal, tensor {} has {}, the first {}", i + 1,
                        to_string(a.tensors[i].shape()), to_string(shape));
    parts.push_back(unsqueeze(a.tensors[i], dim));
  }
  return cat(parts, dim);
}
void Stack::samples(SampleList& s) {
  add_sample<Stack>(s, {.tensors = {grid({2, 3}, -1, 1), grid({2, 3}, 2, 3)}});
  add_sample<Stack>(s,
                    {.tensors = {strided(grid({2, 3}, -1, 1)), grid({2, 3}, 2, 3)}, .dim = {-1}});
  add_sample<Stack>(s, {.tensors = {grid({}, -1, 1), grid({}, 2, 3)}});
}

namespace {

template <class Least>
std::vector<Tensor> each_at_least(const std::vector<Tensor>& tensors) {
  check_any(tensors);
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(call<Least>({.x = t}));
  return out;
}

}  // namespace

Tensor Hstack::compose(const Args& a) {
  const std::vector<Tensor> parts = each_at_least<AtLeast1d>(a.tensors);
  return cat(parts, parts[0].rank() == 1 ? 0 : 1);
}
void Hstack::samples(SampleList& s) {
  add_sample<Hstack>(s, {.tensors = {grid({2, 3}, -1, 1), grid({2, 1}, 2, 3)}});
  add_sample<Hstack>(s, {.tensors = {grid({2}, -1, 1), grid({}, 2, 3)}});
}
Tensor Vstack::compose(const Args& a) { return cat(each_at_least<AtLeast2d>(a.tensors), 0); }
void Vstack::samples(SampleList& s) {
  add_sample<Vstack>(s, {.tensors = {grid({2, 3}, -1, 1), grid({3}, 2, 3)}});
}
Tensor Dstack::compose(const Args& a) { return cat(each_at_least<AtLeast3d>(a.tensors), 2); }
void Dstack::samples(SampleList& s) {
  add_sample<Dstack>(s, {.tensors = {grid({2, 3}, -1, 1), grid({2, 3, 2}, 2, 3)}});
}

Tensor AtLeast1d::compose(const Args& a) { return a.x.rank() >= 1 ? a.x : unsqueeze(a.x, 0); }
void AtLeast1d::samples(SampleList& s) {
  add_sample<AtLeast1d>(s, {.x = grid({}, -1, 1)});
  add_sample<AtLeast1d>(s, {.x = grid({2, 3}, -1, 1)});
}
Tensor AtLeast2d::compose(const Args& a) {
  return a.x.rank() >= 2 ? a.x : unsqueeze(call<AtLeast1d>({.x = a.x}), 0);
}
void AtLeast2d::samples(SampleList& s) {
  add_sample<AtLeast2d>(s, {.x = grid({}, -1, 1)});
  add_sample<AtLeast2d>(s, {.x = grid({3}, -1, 1)});
}
Tensor AtLeast3d::compose(const Args& a) {
  return a.x.rank() >= 3 ? a.x : unsqueeze(call<AtLeast2d>({.x = a.x}), 2);
}
void AtLeast3d::samples(SampleList& s) {
  add_sample<AtLeast3d>(s, {.x = grid({3}, -1, 1)});
  add_sample<AtLeast3d>(s, {.x = grid({2, 3}, -1, 1)});
}

Tensor BlockDiag::compose(const Args& a) {
  std::vector<Tensor> blocks = each_at_least<AtLeast2d>(a.tensors);
  Checked cols(0), before(0);
  for (const Tensor& t : blocks) {
    if (t.rank() != 2)
      throw shape_error("blocks have at most two dims, got shape {}", to_string(t.shape()));
    cols += t.shape()[1];
  }
  for (Tensor& t : blocks) {
    const int64_t width = t.shape()[1];
    t = pad(t, {before, cols - before - width});
    before += width;
  }
  return cat(blocks, 0);
}
void BlockDiag::samples(SampleList& s) {
  add_sample<BlockDiag>(s, {.tensors = {grid({2, 2}, -1, 1), grid({3}, 2, 3), grid({}, 4, 5)}});
}

// ---- repeated ----------------------------------------------------------------------------------

Tensor tile(const Tensor& x, const Dims& times) {
  // Every repeated dim gets one of size 1 before it, which is then expanded.
  Shape split, wide, joined;
  for (int d = 0; d < x.rank(); ++d) {
    if (times[d] != 1) {
      split.push_back(1);
      wide.push_back(times[d]);
    }
    split.push_back(x.shape()[d]);
    wide.push_back(x.shape()[d]);
    joined.push_back(Checked(x.shape()[d]) * times[d]);
  }
  if (split == x.shape()) return clone(x);
  return reshape(expand(reshape(x, split), wide), joined);
}

Tensor Tile::compose(const Args& a) {
  Dims times = a.sizes.list;
  for (const int64_t n : times)
    if (n < 0) throw arg_error("counts must not be negative, got {}", to_string(a.sizes.list));
  while (times.size() < a.x.rank()) times.insert(0, 1);
  Shape shape = a.x.shape();
  while (shape.size() < times.size()) shape.insert(0, 1);
  return tile(reshape(a.x, shape), times);
}
void Tile::samples(SampleList& s) {
  add_sample<Tile>(s, {.x = grid({2, 3}, -1, 1), .sizes = {2}});
  add_sample<Tile>(s, {.x = strided(grid({2, 2}, -1, 1)), .sizes = {2, 1, 2}});
  add_sample<Tile>(s, {.x = grid({}, -1, 1), .sizes = {3}});
  add_sample<Tile>(s, {.x = grid({2}, -1, 1), .sizes = {0}});
}

namespace {

// Position i of a dim, as often as counts say.
Tensor interleaved_ids(const Tensor& counts, int64_t n) {
  if (counts.is_meta())
    throw fail(Kind::device, "E_NO_KERNEL",
               "the result's shape depends on counts, which meta tensors have none of");
  if (is_float(counts.dtype()))
    throw dtype_error("'repeats' must hold integers, got {}", name(counts.dtype())).of("repeats");
  if (counts.rank() > 1 || (counts.numel() != n && counts.numel() != 1))
    throw shape_error("needs one count or {}, got shape {}", n, to_string(counts.shape()))
        .of("repeats");
  const Tensor each = contiguous(expand(cast(reshape(counts, {-1}), DType::i64), {n}));
  const int64_t* count = each.data_as<int64_t>();
  int64_t total = 0;
  Poll poll;
  for (int64_t i = 0; i < n; ++i, poll(1)) {
    const int64_t c = count[i];
    if (c < 0) throw arg_error("counts must not be negative, got {} at position {}", c, i + 1);
    if (c > kMaxBytes - total)
      throw shape_error("the counts add up to more than a tensor can hold, {}", kMaxBytes);
    total += c;
  }
  const Tensor ids = Tensor::empty({total}, DType::i64);
  int64_t* p = ids.data_as<int64_t>();
  for (int64_t i = 0; i < n; ++i, poll(1)) {
    const int64_t c = count[i];
    polled(c, [&](int64_t begin, int64_t end) {
      std::fill(p + begin, p + end, i);
      poll(end - begin);
    });
    p += c;
  }
  return to_device(ids, counts.device());
}

}  // namespace

Tensor RepeatInterleave::compose(const Args& a) {
  const Tensor x = a.dim ? a.x : reshape(a.x, {-1});
  const int dim = a.dim ? axis(a.dim->value, x.rank()) : 0;
  if (x.rank() == 0)
    return call<RepeatInterleave>({.x = reshape(x, {1}), .repeats = a.repeats, .dim = {}});
  if (!a.repeats.is_number())
    return index_select(x, dim, interleaved_ids(a.repeats, x.shape()[dim]));
  const int64_t n = a.repeats.item_int();
  if (n < 0) throw arg_error("counts must not be negative, got {}", n);
  Shape wide = x.shape(), joined = x.shape();
  wide.insert(dim + 1, n);
  joined[dim] = checked_numel({joined[dim], n});
  return reshape(expand(unsqueeze(x, dim + 1), wide), joined);
}
void RepeatInterleave::samples(SampleList& s) {
  const std::vector<double> counts{2, 0, 3};
  add_sample<RepeatInterleave>(s,
                               {.x = grid({2, 3}, -1, 1), .repeats = Tensor::number(int64_t{2})});
  add_sample<RepeatInterleave>(
      s,
      {.x = strided(grid({2, 3}, -1, 1)), .repeats = Tensor::number(int64_t{2}), .dim = Axis{-1}});
  add_sample<RepeatInterleave>(
      s,
      {.x = grid({3, 2}, -1, 1), .repeats = Tensor::of(counts, {3}, DType::i64), .dim = Axis{0}});
}

// ---- grids -------------------------------------------------------------------------------------

std::vector<Tensor> BroadcastTensors::compose(const Args& a) {
  Shape shape;
  for (const Tensor& t : a.tensors) shape = broadcast(shape, t.shape());
  std::vector<Tensor> out;
  for (const Tensor& t : a.tensors) out.push_back(expand(t, shape));
  return out;
}
void BroadcastTensors::samples(SampleList& s) {
  add_sample<BroadcastTensors>(s,
                               {.tensors = {grid({3, 1}, -1, 1), grid({2}, 2, 3), grid({}, 4, 5)}});
}

std::vector<Tensor> Meshgrid::compose(const Args& a) {
  check_any(a.tensors);
  std::vector<Tensor> sides;
  Shape shape;
  for (const Tensor& t : a.tensors) {
    if (t.rank() > 1) throw shape_error("needs vectors, got shape {}", to_string(t.shape()));
    sides.push_back(reshape(t, {-1}));
    shape.push_back(t.numel());
  }
  const bool swaps = a.indexing == Indexing::xy && sides.size() >= 2;
  if (swaps) std::swap(shape[0], shape[1]);
  std::vector<Tensor> out;
  for (int k = 0; k < shape.size(); ++k) {
    const int dim = swaps && k < 2 ? 1 - k : k;
    Shape one = Dims::filled(shape.size(), 1);
    one[dim] = shape[dim];
    out.push_back(expand(reshape(sides[static_cast<size_t>(k)], one), shape));
  }
  return out;
}
void Meshgrid::samples(SampleList& s) {
  add_sample<Meshgrid>(s, {.tensors = {grid({2}, -1, 1), grid({3}, 2, 3)}});
  add_sample<Meshgrid>(s, {.tensors = {grid({2}, -1, 1), grid({3}, 2, 3), grid({}, 4, 5)},
                           .indexing = Indexing::xy});
}

Tensor CartesianProd::compose(const Args& a) {
  check_any(a.tensors);
  for (const Tensor& t : a.tensors)
    if (t.rank() != 1) throw shape_error("needs vectors, got shape {}", to_string(t.shape()));
  if (a.tensors.size() == 1) return a.tensors[0];
  std::vector<Tensor> columns = call<Meshgrid>({.tensors = a.tensors});
  for (Tensor& t : columns) t = reshape(t, {-1});
  return stack(columns, 1);
}
void CartesianProd::samples(SampleList& s) {
  add_sample<CartesianProd>(s, {.tensors = {grid({2}, -1, 1), grid({3}, 2, 3)}});
}

namespace {

// n over k. Throws E_SHAPE where it does not fit 64 bits.
int64_t choices(int64_t n, int64_t k) {
  if (k > n) return 0;
  k = std::min(k, n - k);
  int64_t c = 1;  // it at least doubles each time
  for (int64_t i = 1; i <= k; ++i) c = share(c, n - k + i, i);
  return c;
}

}  // namespace

Tensor Combinations::compose(const Args& a) {
  if (a.x.rank() != 1)
    throw shape_error("needs a vector, got shape {}", to_string(a.x.shape())).of("x");
  if (a.r < 0) throw arg_error("r must not be negative, got {}", a.r);
  const int64_t n = a.x.numel(), r = a.r, spread = a.with_replacement ? 0 : 1;
  const bool any = r > 0 && n > 0;
  const int64_t rows = any ? choices(a.with_replacement ? Checked(n) + (r - 1) : Checked(n), r) : 0;
  const Tensor ids = Tensor::empty({rows, r}, DType::i64);
  // Odometer over rising (or not falling) ids; what is below the last place is refilled from it.
  int64_t* row = ids.data_as<int64_t>();
  Poll poll;
  for (int64_t i = 0; i < rows; ++i, row += r, poll(r)) {
    int64_t place = 0;
    if (i > 0) {
      std::copy_n(row - r, r, row);
      place = r - 1;
      while (row[place] == n - 1 - (a.with_replacement ? 0 : r - 1 - place)) --place;
      ++row[place++];
    }
    for (; place < r; ++place) row[place] = place == 0 ? 0 : row[place - 1] + spread;
  }
  return reshape(index_select(a.x, 0, to_device(reshape(ids, {-1}), a.x.device())), {rows, r});
}
void Combinations::samples(SampleList& s) {
  add_sample<Combinations>(s, {.x = grid({4}, -1, 1)});
  add_sample<Combinations>(s, {.x = grid({3}, -1, 1), .r = 3, .with_replacement = true});
  add_sample<Combinations>(s, {.x = grid({2}, -1, 1), .r = 3});
}

// ---- for other ops -----------------------------------------------------------------------------

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  return call<Cat>({.tensors = tensors, .dim = {dim}});
}
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  return call<Stack>({.tensors = tensors, .dim = {dim}});
}

OpFamily family_shape() {
  return list_ops(
      OpList<Cat, Stack, Hstack, Vstack, Dstack, AtLeast1d, AtLeast2d, AtLeast3d, BlockDiag, Tile,
             RepeatInterleave, BroadcastTensors, Meshgrid, CartesianProd, Combinations>{},
      "shape");
}

}  // namespace rille
