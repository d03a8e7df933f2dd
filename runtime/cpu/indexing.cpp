#include "cpu/indexing.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/budget.h"
#include "core/threads.h"
#include "cpu/movement.h"

namespace rille::cpu {
namespace {

constexpr int64_t kSmall = 1 << 15;  // elements that are not worth a second thread
constexpr int64_t kLanes = 128;      // neighbouring lines walked together, for the cache

// Pieces of work a thread takes at least; all of them where there is little to do.
int64_t grain_of(int64_t pieces, int64_t elements) {
  return elements <= kSmall ? pieces : std::max<int64_t>(1, pieces / 64);
}

// ---- how values meet ---------------------------------------------------------------------------

struct Assign {
  template <class T>
  void operator()(T& y, T v) const {
    y = v;
  }
};
struct AddTo {
  template <class T>
  void operator()(T& y, T v) const {
    if constexpr (std::is_integral_v<T>)
      y = static_cast<T>(static_cast<uint64_t>(y) + static_cast<uint64_t>(v));
    else
      y += v;
  }
};
struct MulInto {
  template <class T>
  void operator()(T& y, T v) const {
    if constexpr (std::is_integral_v<T>)
      y = static_cast<T>(static_cast<uint64_t>(y) * static_cast<uint64_t>(v));
    else
      y *= v;
  }
};
// A nan stays, whichever side it comes from.
struct MaxOf {
  template <class T>
  void operator()(T& y, T v) const {
    y = y > v || y != y ? y : v;
  }
};
struct MinOf {
  template <class T>
  void operator()(T& y, T v) const {
    y = y < v || y != y ? y : v;
  }
};

// Calls f.operator()<T>(functor) for the functor of `how` and the type that holds `d`.
template <class F>
void with_combine(Combine how, DType d, F&& f) {
  if (how == Combine::assign)
    return with_unit(d, [&]<class U>() { f.template operator()<U>(Assign{}); });
  const auto typed = [&](auto functor) {
    if (d == DType::f64)
      f.template operator()<double>(functor);
    else if (d == DType::f32)
      f.template operator()<float>(functor);
    else
      f.template operator()<int64_t>(functor);
  };
  if (how == Combine::add)
    typed(AddTo{});
  else if (how == Combine::mul)
    typed(MulInto{});
  else if (how == Combine::max)
    typed(MaxOf{});
  else
    typed(MinOf{});
}

// ---- rows --------------------------------------------------------------------------------------

// The dims inside a row, merged where both sides allow it.
struct Inner {
  Shape sizes;
  Strides a, b;
  int64_t numel = 1;
  bool plain = false;  // one run of neighbours on both sides
};

Inner merged(const Shape& sizes, const Strides& a, const Strides& b) {
  Inner m;
  for (int d = 0; d < sizes.size(); ++d) {
    m.numel *= sizes[d];
    if (sizes[d] == 1) continue;
    const int last = m.sizes.size() - 1;
    if (last >= 0 && m.a[last] == a[d] * sizes[d] && m.b[last] == b[d] * sizes[d]) {
      m.sizes[last] *= sizes[d];
      m.a[last] = a[d];
      m.b[last] = b[d];
    } else {
      m.sizes.push_back(sizes[d]);
      m.a.push_back(a[d]);
      m.b.push_back(b[d]);
    }
  }
  m.plain = m.sizes.empty() || (m.sizes.size() == 1 && m.a[0] == 1 && m.b[0] == 1);
  return m;
}

template <class F, class T>
void meet_row(const F& f, const Inner& m, T* a, const T* b) {
  if (m.plain) {
    return polled(m.numel, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<F, Assign>)
        std::memcpy(a + begin, b + begin, static_cast<size_t>(end - begin) * sizeof(T));
      else
        for (int64_t i = begin; i < end; ++i) f(a[i], b[i]);
    });
  }
  Walk<2> walk(m.sizes, {&m.a, &m.b});
  polled(m.numel, [&](int64_t i, int64_t end) {
    for (; i < end; ++i, walk.next()) f(a[walk.offset[0]], b[walk.offset[1]]);
  });
}

int64_t numel_of(const Shape& s) {
  int64_t n = 1;
  for (const int64_t d : s) n *= d;
  return n;
}

int64_t offset_of(const Rows& r, int64_t k) { return r.offset ? r.offset[k] : r.place[k] * r.step; }

template <class T>
void take_as(const Rows& r, const T* x, T* values) {
  const Inner m = merged(r.inner, r.inner_values, r.inner_steps);
  const int64_t rows = numel_of(r.outer) * r.count;
  if (m.numel == 0) return;
  parallel_for(rows, grain_of(rows, rows * m.numel), [&](int64_t begin, int64_t end) {
    Walk<2> outer(r.outer, {&r.outer_steps, &r.outer_values}, begin / r.count);
    int64_t k = begin % r.count;
    Poll poll;
    for (int64_t i = begin; i < end; ++i, poll(m.numel)) {
      const T* from = x + outer.offset[0] + offset_of(r, k);
      T* to = values + outer.offset[1] + k * r.value_step;
      if (m.numel == 1)
        *to = *from;
      else
        meet_row(Assign{}, m, to, from);
      if (++k < r.count) continue;
      k = 0;
      outer.next();
    }
  });
}

template <class F, class T>
void put_as(const F& f, const Rows& r, T* y, const T* values) {
  const Inner m = merged(r.inner, r.inner_steps, r.inner_values);
  const int64_t outer = numel_of(r.outer), work = outer * r.count * m.numel;
  if (work == 0) return;
  const auto meet = [&](T* a, const T* b) {
    if (m.numel == 1)
      f(*a, *b);
    else
      meet_row(f, m, a, b);
  };
  // Each thread has places of its own: a range of the outer dims or, where these are few, of the
  // places, for which it looks through all ids.
  if (outer >= 16) {
    parallel_for(outer, grain_of(outer, work), [&](int64_t begin, int64_t end) {
      Walk<2> walk(r.outer, {&r.outer_steps, &r.outer_values}, begin);
      Poll poll;
      for (int64_t o = begin; o < end; ++o, walk.next())
        for (int64_t k = 0; k < r.count; ++k, poll(m.numel))
          meet(y + walk.offset[0] + offset_of(r, k), values + walk.offset[1] + k * r.value_step);
    });
    return;
  }
  parallel_for(
      r.places, work <= kSmall ? r.places : (r.places + 63) / 64, [&](int64_t begin, int64_t end) {
        Poll poll;
        for (int64_t k = 0; k < r.count; ++k) {
          poll(1);
          if (r.place[k] < begin || r.place[k] >= end) continue;
          Walk<2> walk(r.outer, {&r.outer_steps, &r.outer_values});
          for (int64_t o = 0; o < outer; ++o, walk.next(), poll(m.numel))
            meet(y + walk.offset[0] + offset_of(r, k), values + walk.offset[1] + k * r.value_step);
        }
      });
}

}  // namespace

void take_rows(const Rows& r, const Tensor& x, const Tensor& values) {
  with_unit(x.dtype(), [&]<class U>() { take_as<U>(r, x.data_as<U>(), values.data_as<U>()); });
}

void put_rows(const Rows& r, const Tensor& y, const Tensor& values, Combine how) {
  with_combine(how, y.dtype(), [&]<class T>(auto functor) {
    put_as(functor, r, y.data_as<T>(), values.data_as<T>());
  });
}

// ---- lines -------------------------------------------------------------------------------------

namespace {

// One operand of a walk over lines: base, and steps along the line and from lane to lane.
struct Side {
  Strides rest;
  int64_t along, lane;
};

Side side_of(Strides strides, int dim, int lane_dim) {
  Side s{{}, strides[dim], lane_dim < 0 ? 0 : strides[lane_dim]};
  for (int d = 0; d < strides.size(); ++d)
    if (d != dim && d != lane_dim) s.rest.push_back(strides[d]);
  return s;
}

// Strides of a tensor read in the shape of ids: 0-d stands for all.
Strides in_shape(const Tensor& t, const Shape& shape) {
  return t.rank() == 0 ? Dims::filled(shape.size(), 0) : t.strides();
}

// Calls f(address, value, id) with pointers to one element each: for every position of the ids,
// those that share a line in order, lines of different lanes side by side.
template <class T, class F>
void each_on_lines(T* data, const Strides& steps, const Tensor& ids, T* values,
                   const Strides& value_steps, int dim, F&& f) {
  const Shape& shape = ids.shape();
  if (ids.numel() == 0) return;
  const int last = shape.size() - 1, lane_dim = dim == last ? -1 : last;
  const Side a = side_of(steps, dim, lane_dim), v = side_of(value_steps, dim, lane_dim),
             d = side_of(ids.strides(), dim, lane_dim);
  Shape rest;
  for (int k = 0; k <= last; ++k)
    if (k != dim && k != lane_dim) rest.push_back(shape[k]);
  const int64_t lanes = lane_dim < 0 ? 1 : shape[lane_dim], length = shape[dim];
  const int64_t blocks = (lanes + kLanes - 1) / kLanes, pieces = numel_of(rest) * blocks;
  const int64_t* id = ids.data_as<int64_t>();
  parallel_for(pieces, grain_of(pieces, ids.numel()), [&](int64_t begin, int64_t end) {
    Walk<3> walk(rest, {&a.rest, &v.rest, &d.rest}, begin / blocks);
    Poll poll;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kLanes, behind = std::min(first + kLanes, lanes);
      for (int64_t k = 0; k < length; ++k, poll(behind - first))
        for (int64_t j = first; j < behind; ++j)
          f(data + walk.offset[0] + id[walk.offset[2] + k * d.along + j * d.lane] * a.along +
                j * a.lane,
            values + walk.offset[1] + k * v.along + j * v.lane);
      if (i % blocks == blocks - 1) walk.next();
    }
  });
}

}  // namespace

void gather_lines(const Tensor& x, int dim, const Tensor& ids, const Tensor& values) {
  with_unit(x.dtype(), [&]<class U>() {
    each_on_lines<U>(x.data_as<U>(), x.strides(), ids, values.data_as<U>(), values.strides(), dim,
                     [](const U* from, U* to) { *to = *from; });
  });
}

void scatter_lines(const Tensor& y, int dim, const Tensor& ids, const Tensor& values, Combine how) {
  with_combine(how, y.dtype(), [&]<class T>(auto functor) {
    each_on_lines<T>(y.data_as<T>(), y.strides(), ids, values.data_as<T>(),
                     in_shape(values, ids.shape()), dim,
                     [&](T* to, const T* from) { functor(*to, *from); });
  });
}

// ---- what is not zero --------------------------------------------------------------------------

namespace {

// Calls f(position) for each element of a contiguous tensor that is not zero.
template <class F>
void each_nonzero(const Tensor& t, F&& f) {
  const auto scan = [&](const auto* p) {
    polled(t.numel(), [&](int64_t i, int64_t end) {
      for (; i < end; ++i)
        if (p[i] != 0) f(i);
    });
  };
  const auto scan_short = [&] {  // a 16-bit float is zero where all but its sign is
    const uint16_t* p = t.data_as<uint16_t>();
    polled(t.numel(), [&](int64_t i, int64_t end) {
      for (; i < end; ++i)
        if ((p[i] & 0x7fffu) != 0) f(i);
    });
  };
  switch (t.dtype()) {
    case DType::f64: return scan(t.data_as<double>());
    case DType::f32: return scan(t.data_as<float>());
    case DType::f16:
    case DType::bf16: return scan_short();
    case DType::i64: return scan(t.data_as<int64_t>());
    case DType::i32: return scan(t.data_as<int32_t>());
    case DType::i16: return scan(t.data_as<int16_t>());
    default: return scan(t.data_as<uint8_t>());
  }
}

}  // namespace

int64_t count_nonzero(const Tensor& t) {
  int64_t n = 0;
  each_nonzero(t, [&](int64_t) { ++n; });
  return n;
}

void write_nonzero(const Tensor& t, int64_t* out) {
  const int rank = t.rank();
  each_nonzero(t, [&](int64_t position) {
    for (int d = rank - 1; d >= 0; --d) {
      out[d] = position % t.shape()[d];
      position /= t.shape()[d];
    }
    out += rank;
  });
}

}  // namespace rille::cpu
