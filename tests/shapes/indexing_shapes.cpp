// Lookups and writes by id, whole rows and single elements, with repeated ids and any strides.
#include "cpu/indexing.h"

#include "core/fail.h"
#include "cpu/rows.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Combine;

std::vector<int64_t> any_ids(Dice& dice, int64_t n, int64_t places) {
  std::vector<int64_t> ids(at(n));
  const int64_t top = dice.one_in(3) ? std::min<int64_t>(places, 3) : places;  // many meet
  for (int64_t& i : ids) i = dice.between(0, top - 1);
  return ids;
}

// The table of an embedding, and its gradient.
Outcome lookup(Dice& dice) {
  const DType d = dice.float_type();
  const int64_t width = dice.size_from_1(300);
  cpu::Lookup l{};
  l.outer = dice.flip() ? 1 : dice.between(0, 4);
  l.rows = dice.size_from_1(200);
  l.count = dice.size(std::max<int64_t>(1, std::min<int64_t>(2000, 100000 / width)));
  const std::vector<int64_t> ids = any_ids(dice, l.count, l.rows);
  l.ids = ids.data();
  const bool accumulate = dice.flip();
  const int64_t skip = dice.flip() ? -1 : dice.between(0, l.rows - 1);
  const Array table(d, dice.values(l.outer * l.rows * width), dice),
      dy(d, dice.values(l.outer * l.count * width), dice);
  const Values t = table.values(), g = dy.values();
  Wants picked;
  std::vector<Sum> sums(t.size());
  std::vector<bool> touched(t.size(), false);
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.count; ++k)
      for (int64_t i = 0; i < width; ++i) {
        const size_t place = at((o * l.rows + ids[at(k)]) * width + i);
        picked.push_back({t[place]});
        if (ids[at(k)] == skip) continue;
        sums[place].add(g[at((o * l.count + k) * width + i)]);
        touched[place] = true;
      }
  Wants grads;
  for (size_t i = 0; i < t.size(); ++i) {
    if (accumulate) sums[i].add(t[i]);
    grads.push_back(accumulate && !touched[i] ? Want{t[i]} : sums[i].in(d));
  }
  return {fmt::format("{} {} x {} x {} ids {} accumulate {} skip {}", name(d), l.outer, l.rows,
                      width, l.count, accumulate, skip),
          with_threads(
              {Array(d, l.outer * l.count * width, dice), table},
              [&](Arrays& r) {
                cpu::take_rows(l, width * static_cast<int64_t>(size_of(d)), table.data(),
                               r[0].data());
                cpu::add_rows(d, l, width, dy.data(), r[1].data(), accumulate, skip);
              },
              [&](const Arrays& r) {
                const std::string wrong = differs("rows", r[0], picked);
                return wrong.empty() ? differs("dtable", r[1], grads) : wrong;
              })};
}

double combined(Combine how, double y, double v) {
  switch (how) {
    case Combine::assign: return v;
    case Combine::add: return y + v;
    case Combine::mul: return y * v;
    case Combine::max: return std::isnan(y) || y > v ? y : v;
    default: return std::isnan(y) || y < v ? y : v;
  }
}

// In f64 and i64 with whole numbers each order of a sum gives the same; products of ones and twos.
struct Written {
  Combine how;
  DType d;
  double low, high;
};
Written choose_written(Dice& dice) {
  const auto how =
      dice.any_of({Combine::assign, Combine::add, Combine::mul, Combine::max, Combine::min});
  const DType d =
      how == Combine::assign ? dice.any_type() : dice.any_of({DType::f32, DType::f64, DType::i64});
  if (how == Combine::mul) return {how, d, -1, 1};
  return {how, d, d == DType::u8 || d == DType::boolean ? 0.0 : -90.0,
          d == DType::boolean ? 1.0 : 90.0};
}

// A shape, and the dim in which ids address it: it has places.
struct Addressed {
  Shape shape;
  int dim;
};
Addressed choose_addressed(Dice& dice) {
  const int rank = static_cast<int>(dice.between(1, 4)),
            dim = static_cast<int>(dice.between(0, rank - 1));
  Shape shape = dice.shape(rank, dice.one_in(6) ? 90000 : 4000);
  shape[dim] = std::max<int64_t>(1, shape[dim]);
  return {shape, dim};
}

void make_whole(const Tensor& t) {
  Index i(t.shape());
  const auto item = static_cast<int64_t>(size_of(t.dtype()));
  for (int64_t k = 0; k < t.numel(); ++k, i.next()) {
    char* p = t.data_as<char>() + i.offset(t.strides()) * item;
    store_element(t.dtype(), p, std::round(load_element(t.dtype(), p)));
  }
}

Tensor copy_of(const Tensor& x) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  Index i(x.shape());
  const auto item = static_cast<int64_t>(size_of(x.dtype()));
  for (int64_t k = 0; k < x.numel(); ++k, i.next())
    std::memcpy(y.data_as<char>() + k * item, x.data_as<char>() + i.offset(x.strides()) * item,
                at(item));
  return y;
}

// gather and scatter: an id for each element.
Outcome lines(Dice& dice) {
  const auto [shape, dim] = choose_addressed(dice);
  const int rank = shape.size();
  Shape ids_shape = shape;
  for (int d = 0; d < rank; ++d)
    ids_shape[d] = d == dim ? dice.size(shape[d] * 2) : dice.between(0, shape[d]);
  const Written w = choose_written(dice);
  const Tensor x = random_tensor(dice, shape, w.d, w.low, w.high),
               start = packed_tensor(dice, shape, w.d, w.low, w.high),
               values = random_tensor(dice, ids_shape, w.d, w.low, w.high),
               ids = random_tensor(dice, ids_shape, DType::i64, 0,
                                   static_cast<double>(shape[dim] - 1));
  make_whole(start), make_whole(values);
  const Strides steps = contiguous_strides(shape);
  const Values v = values_of(x), added = values_of(values), id = values_of(ids);
  Values y = values_of(start);
  Wants gathered;
  Index i(ids_shape);
  for (int64_t k = 0; k < ids.numel(); ++k, i.next()) {
    const auto to = i.offset(steps) + (static_cast<int64_t>(id[at(k)]) - i[dim]) * steps[dim];
    gathered.push_back({v[at(to)]});
    y[at(to)] = combined(w.how, y[at(to)], added[at(k)]);
  }
  Wants scattered;
  for (const double e : y) scattered.push_back({e});
  return {fmt::format("{} {} dim {} ids {} how {}", name(w.d), to_string(shape), dim,
                      to_string(ids_shape), static_cast<int>(w.how)),
          with_threads(
              [&] {
                std::vector<Tensor> r{Tensor::empty(ids_shape, w.d), copy_of(start)};
                cpu::gather_lines(x, dim, ids, r[0]);
                cpu::scatter_lines(r[1], dim, ids, values, w.how);
                return r;
              },
              [&](const std::vector<Tensor>& r) {
                const std::string wrong = differs("gathered", r[0], gathered);
                return wrong.empty() ? differs("scattered", r[1], scattered) : wrong;
              })};
}

// index_select and index_add: an id for each slice along a dim.
Outcome rows(Dice& dice) {
  const auto [shape, dim] = choose_addressed(dice);
  const int rank = shape.size();
  Shape taken = shape;
  taken[dim] = dice.size(shape[dim] * 2);
  const Written w = choose_written(dice);
  const Tensor x = random_tensor(dice, shape, w.d, w.low, w.high),
               start = packed_tensor(dice, shape, w.d, w.low, w.high),
               values = random_tensor(dice, taken, w.d, w.low, w.high);
  make_whole(start), make_whole(values);
  const std::vector<int64_t> ids = any_ids(dice, taken[dim], shape[dim]);
  const auto plan = [&](const Tensor& addressed, const Tensor& by_id) {
    cpu::Rows r;
    r.count = taken[dim], r.places = shape[dim], r.place = ids.data();
    r.step = addressed.strides()[dim], r.value_step = by_id.strides()[dim];
    for (int d = 0; d < rank; ++d) {
      if (d == dim) continue;
      (d < dim ? r.outer : r.inner).push_back(shape[d]);
      (d < dim ? r.outer_steps : r.inner_steps).push_back(addressed.strides()[d]);
      (d < dim ? r.outer_values : r.inner_values).push_back(by_id.strides()[d]);
    }
    return r;
  };
  const Values v = values_of(x), added = values_of(values);
  Values y = values_of(start);
  Wants picked;
  const Strides steps = contiguous_strides(shape);
  Index i(taken);
  for (const double e : added) {
    const int64_t to = i.offset(steps) + (ids[at(i[dim])] - i[dim]) * steps[dim];
    picked.push_back({v[at(to)]});
    y[at(to)] = combined(w.how, y[at(to)], e);
    i.next();
  }
  Wants put;
  for (const double e : y) put.push_back({e});
  return {fmt::format("{} {} dim {} ids {} how {} strides {} values {}", name(w.d),
                      to_string(shape), dim, taken[dim], static_cast<int>(w.how),
                      to_string(Shape(x.strides())), to_string(Shape(values.strides()))),
          with_threads(
              [&] {
                std::vector<Tensor> r{Tensor::empty(taken, w.d), copy_of(start)};
                if (r[0].numel() > 0) cpu::take_rows(plan(x, r[0]), x, r[0]);
                if (values.numel() > 0) cpu::put_rows(plan(r[1], values), r[1], values, w.how);
                return r;
              },
              [&](const std::vector<Tensor>& r) {
                const std::string wrong = differs("taken", r[0], picked);
                return wrong.empty() ? differs("put", r[1], put) : wrong;
              })};
}

Outcome nonzero(Dice& dice) {
  const int rank = static_cast<int>(dice.between(1, 4));
  const Shape shape = dice.shape(rank, 4000);
  const DType d = dice.any_type();
  const Tensor x = packed_tensor(dice, shape, d, 0, 1);
  if (is_float(d)) make_whole(x);
  Wants want;
  Index i(shape);
  for (const double e : values_of(x)) {
    for (int k = 0; e != 0 && k < rank; ++k) want.push_back({static_cast<double>(i[k])});
    i.next();
  }
  const int64_t n = cpu::count_nonzero(x);
  std::vector<int64_t> got(at(n * rank));
  cpu::write_nonzero(x, got.data());
  return {fmt::format("{} {}", name(d), to_string(shape)),
          differs("positions", DType::i64, Values(got.begin(), got.end()), want)};
}

const Family kFamily("indexing", {{"lookup", 600, lookup},
                                  {"lines", 800, lines},
                                  {"rows", 800, rows},
                                  {"nonzero", 300, nonzero}});

}  // namespace
}  // namespace rille::shapes
