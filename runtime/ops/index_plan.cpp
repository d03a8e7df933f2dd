#include "ops/index_plan.h"

#include <numeric>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/movement.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/index.h"

namespace rille {
namespace {

// "[2, 1]": a position as the script counts.
std::string shown_position(int64_t i, const Shape& shape) {
  Dims at;
  for (int d = shape.size() - 1; d >= 0; --d) {
    at.insert(0, i % shape[d] + 1);
    i /= shape[d];
  }
  return to_string(at);
}

[[noreturn]] void refuse_id(int64_t id, int64_t i, const Shape& shape, int64_t n, int dim) {
  throw index_error("id {} is out of range for dim {} of size {}", id, dim + 1, n)
      .fact(fmt::format("position     {} of the ids", shown_position(i, shape)))
      .fact(fmt::format("range        0 to {}", n - 1));
}

}  // namespace

Tensor checked_ids(const Tensor& given, int64_t n, int dim, bool negative_too) {
  if (!is_integer(given.dtype()))
    throw dtype_error("ids must be integers, got {}", name(given.dtype())).of("index");
  const NoGrad quiet;
  // Repeated dims (expanded ids) are looked at once.
  Shape once = given.shape();
  for (int d = 0; d < once.size(); ++d)
    if (given.strides()[d] == 0 && once[d] > 1) once[d] = 1;
  Tensor ids = contiguous(cast(given.alias(once, given.strides(), given.offset()), DType::i64));
  const int64_t low = negative_too ? -n : 0, count = ids.numel();
  const int64_t* p = ids.data_as<int64_t>();
  bool good = true, negative = false;
  polled(count, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      good &= p[i] >= low && p[i] < n;
      negative |= p[i] < 0;
    }
  });
  for (int64_t i = 0; !good && i < count; ++i)
    if (p[i] < low || p[i] >= n) refuse_id(p[i], i, once, n, dim);
  if (negative) {
    const Tensor turned = Tensor::empty(once, DType::i64);
    polled(count, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) turned.data_as<int64_t>()[i] = p[i] < 0 ? p[i] + n : p[i];
    });
    ids = turned;
  }
  Strides strides = ids.strides();
  for (int d = 0; d < once.size(); ++d)
    if (once[d] != given.shape()[d]) strides[d] = 0;
  return ids.alias(given.shape(), strides, ids.offset());
}

Shape IndexShapes::result() const {
  Shape out = outer;
  for (const int64_t n : ids) out.push_back(n);
  for (const int64_t n : inner) out.push_back(n);
  return out;
}

IndexShapes index_shapes(const Tensor& x, const std::vector<Tensor>& indices, const Axes& given) {
  const int n = static_cast<int>(indices.size());
  if (n > x.rank()) throw shape_error("{} indices for a tensor of {} dims", n, x.rank()).of("x");
  if (!given.all && given.list.size() != n)
    throw arg_error("{} indices, but {} dims", n, given.list.size());
  std::vector<int> dims, order(static_cast<size_t>(n));
  for (int k = 0; k < n; ++k) dims.push_back(given.all ? k : axis(given.list[k], x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return dims[static_cast<size_t>(a)] < dims[static_cast<size_t>(b)];
  });
  IndexShapes s;
  for (const int k : order) {
    const int d = dims[static_cast<size_t>(k)];
    if (!s.dims.empty() && s.dims.back() == d) throw arg_error("dim {} is named twice", d + 1);
    s.dims.push_back(d);
    s.ids = broadcast(s.ids, indices[static_cast<size_t>(k)].shape());
  }
  s.order = std::move(order);
  const bool together = n == 0 || s.dims.back() - s.dims[0] == n - 1;
  int next = 0;
  for (int d = 0; d < x.rank(); ++d) {
    if (next < n && s.dims[next] == d) {
      ++next;
      continue;
    }
    const bool before = together && n > 0 && d < s.dims[0];
    (before ? s.outer : s.inner).push_back(x.shape()[d]);
    (before ? s.outer_dims : s.inner_dims).push_back(d);
  }
  return s;
}

IndexPlan index_plan(const Tensor& x, const std::vector<Tensor>& indices, const Axes& dims) {
  IndexPlan p;
  p.shapes = index_shapes(x, indices, dims);
  const IndexShapes& s = p.shapes;
  const int64_t count = checked_numel(s.ids);
  p.place = Tensor::empty({count}, DType::i64);
  p.offset = Tensor::empty({count}, DType::i64);
  int64_t *place = p.place.data_as<int64_t>(), *offset = p.offset.data_as<int64_t>();
  cpu::clear(p.place);
  cpu::clear(p.offset);
  Checked places(1);
  for (int k = 0; k < s.dims.size(); ++k) {
    const int d = static_cast<int>(s.dims[k]);
    const int64_t n = x.shape()[d], step = x.strides()[d];
    const Tensor ids =
        checked_ids(indices[static_cast<size_t>(s.order[static_cast<size_t>(k)])], n, d, true);
    const Strides strides = broadcast_strides(ids.shape(), ids.strides(), s.ids);
    const int64_t* id = ids.data_as<int64_t>();
    cpu::Walk<1> walk(s.ids, {&strides});
    Poll poll;
    for (int64_t i = 0; i < count; ++i, walk.next(), poll(1)) {
      place[i] = place[i] * n + id[walk.offset[0]];  // fits: below `places`
      offset[i] += id[walk.offset[0]] * step;
    }
    places *= n;
  }
  cpu::Rows& r = p.rows;
  r.count = count;
  r.places = places;
  r.place = place;
  r.offset = offset;
  r.outer = s.outer;
  r.inner = s.inner;
  for (const int64_t d : s.outer_dims) r.outer_steps.push_back(x.strides()[static_cast<int>(d)]);
  for (const int64_t d : s.inner_dims) r.inner_steps.push_back(x.strides()[static_cast<int>(d)]);
  return p;
}

void set_values(IndexPlan& plan, const Tensor& values) {
  const IndexShapes& s = plan.shapes;
  const Strides& strides = values.strides();
  const int first = s.outer.size(), behind = first + s.ids.size();
  cpu::Rows& r = plan.rows;
  r.outer_values = Dims(strides.begin(), strides.begin() + first);
  r.inner_values = Dims(strides.begin() + behind, strides.end());
  r.value_step = s.ids.empty() ? 0 : strides[behind - 1];
}

IdList without_masks(const Tensor& x, const std::vector<Tensor>& indices, const Axes& dims) {
  IdList out;
  out.dims.all = false;
  int next = 0;
  for (size_t k = 0; k < indices.size(); ++k) {
    const Tensor& index = indices[k];
    int d = next;
    if (!dims.all) {
      if (static_cast<int>(k) >= dims.list.size())
        throw arg_error("{} indices, but {} dims", indices.size(), dims.list.size());
      d = axis(dims.list[static_cast<int>(k)], x.rank());
    }
    if (index.dtype() != DType::boolean) {
      out.indices.push_back(index);
      out.dims.list.push_back(d);
      next = d + 1;
      continue;
    }
    bool fits = d + index.rank() <= x.rank();
    for (int m = 0; fits && m < index.rank(); ++m) fits = index.shape()[m] == x.shape()[d + m];
    if (!fits)
      throw shape_error("a mask of shape {} does not fit {} from dim {} on",
                        to_string(index.shape()), to_string(x.shape()), d + 1)
          .of("x");
    for (Tensor& ids : mask_ids(index)) {
      out.indices.push_back(std::move(ids));
      out.dims.list.push_back(d++);
    }
    next = d;
  }
  return out;
}

}  // namespace rille
