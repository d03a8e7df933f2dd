// Places in sorted lines, sets, counts and histograms, against loops over all that there is.
#include <algorithm>
#include <numeric>

#include "core/fail.h"
#include "cpu/search.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

Outcome search(Dice& dice) {
  const DType d = dice.any_type(false), e = dice.flip() ? d : dice.any_type(false);
  const int64_t lines = dice.flip() ? 1 : dice.between(1, 5), n = dice.size(300),
                m = dice.size(2000);
  const bool right = dice.flip();
  const auto low = [](DType t) { return t == DType::u8 ? 0.0 : -20.0; };
  const Tensor sorted = packed_tensor(dice, {lines, n}, d, low(d), 20),
               values = packed_tensor(dice, {lines, m}, e, low(e), 20);
  const size_t item = size_of(d);
  for (int64_t l = 0; l < lines; ++l) {
    Values row;
    for (int64_t i = 0; i < n; ++i)
      row.push_back(load_element(d, sorted.data_as<char>() + at(l * n + i) * item));
    std::sort(row.begin(), row.end());
    for (int64_t i = 0; i < n; ++i)
      store_element(d, sorted.data_as<char>() + at(l * n + i) * item, row[at(i)]);
  }
  const Values s = values_of(sorted), v = values_of(values);
  Wants want;
  for (int64_t i = 0; i < lines * m; ++i) {
    int64_t place = 0;
    while (place < n &&
           (right ? s[at(i / m * n + place)] <= v[at(i)] : s[at(i / m * n + place)] < v[at(i)]))
      ++place;
    want.push_back({static_cast<double>(place)});
  }
  return {fmt::format("{} in {} lines {} n {} m {} right {}", name(e), name(d), lines, n, m, right),
          with_threads(
              [&] {
                const Tensor ids = Tensor::empty({lines, m}, DType::i64);
                cpu::search_sorted(sorted, values, right, ids.data_as<int64_t>());
                return std::vector<Tensor>{ids};
              },
              [&](const std::vector<Tensor>& r) { return differs("ids", r[0], want); })};
}

bool nan_last(double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); }

Outcome unique(Dice& dice) {
  const DType d = dice.any_type();
  const int64_t n = dice.size(1500), width = dice.flip() ? 1 : dice.between(1, 3);
  const bool consecutive = dice.one_in(3);
  const double low = d == DType::u8 || d == DType::boolean ? 0 : -3;
  const Tensor x = packed_tensor(dice, {n, width}, d, low, d == DType::boolean ? 1 : 3);
  if (is_float(d))
    for (size_t i = 0; i < at(x.numel()); ++i) {
      char* p = x.data_as<char>() + i * size_of(d);
      store_element(d, p, dice.one_in(40) ? std::nan("") : std::trunc(load_element(d, p)));
    }
  const Values v = values_of(x);
  const auto row = [&](int64_t i) {
    return Values(v.begin() + i * width, v.begin() + (i + 1) * width);
  };
  const auto equal = [&](int64_t a, int64_t b) {
    return row(a) == row(b);
  };  // a nan equals nothing
  std::vector<int64_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  if (!consecutive)
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const Values p = row(a), q = row(b);
      return std::lexicographical_compare(p.begin(), p.end(), q.begin(), q.end(), nan_last);
    });
  Wants groups(at(n), {0}), first, counts;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !equal(order[i - 1], order[i]))
      first.push_back({static_cast<double>(order[i])}), counts.push_back({0});
    counts.back().value += 1;
    groups[at(order[i])] = {static_cast<double>(first.size()) - 1};
  }
  std::vector<int64_t> group_of(at(n));
  const cpu::Groups got = cpu::unique_rows(x, n, width, consecutive, group_of.data());
  std::string wrong =
      differs("first", DType::i64, Values(got.first.begin(), got.first.end()), first);
  if (wrong.empty())
    wrong = differs("counts", DType::i64, Values(got.counts.begin(), got.counts.end()), counts);
  if (wrong.empty())
    wrong = differs("groups", DType::i64, Values(group_of.begin(), group_of.end()), groups);
  return {fmt::format("{} {} x {} consecutive {}", name(d), n, width, consecutive), wrong};
}

// Whole numbers, each with a weight of eighths: sums of these are exact in any order.
Outcome count(Dice& dice) {
  const DType d = dice.any_of({DType::u8, DType::i8, DType::i16, DType::i32, DType::i64});
  const int64_t n = dice.size(3000), top = dice.between(0, 100);
  const bool weighed = dice.flip();
  const Tensor x = packed_tensor(dice, {n}, d, 0, static_cast<double>(top)),
               weights = packed_tensor(dice, {n}, dice.float_type(), -4, 4);
  for (int64_t i = 0; i < n; ++i) {
    char* p = weights.data_as<char>() + at(i) * size_of(weights.dtype());
    store_element(weights.dtype(), p, std::round(load_element(weights.dtype(), p) * 8) / 8);
  }
  const Values v = values_of(x), w = values_of(weights);
  Wants want(at(top + 1), {0});
  for (size_t i = 0; i < v.size(); ++i) want[static_cast<size_t>(v[i])].value += weighed ? w[i] : 1;
  return {fmt::format("{} n {} top {} weights {}", name(d), n, top,
                      weighed ? name(weights.dtype()) : "none"),
          with_threads(
              [&] {
                Tensor counts = Tensor::of(Values(want.size(), 0.0), {top + 1},
                                           weighed ? DType::f64 : DType::i64);
                cpu::count_values(x, weighed ? &weights : nullptr, counts);
                return std::vector<Tensor>{counts};
              },
              [&](const std::vector<Tensor>& r) { return differs("counts", r[0], want); })};
}

// Quarters, and parts whose ends are halves: in which part an element lies is no question of
// rounding. Some elements lie outside, some are nan.
Outcome histogram(Dice& dice) {
  const DType d = dice.any_type(false);
  const int64_t n = dice.size(5000), halves = dice.between(1, 64);
  const double low = dice.whole(-8, 8) / 2, high = low + static_cast<double>(halves) / 2;
  const Tensor x = packed_tensor(dice, {n}, d, d == DType::u8 ? 0 : -20, 40);
  for (size_t i = 0; i < at(n) && is_float(d); ++i) {
    char* p = x.data_as<char>() + i * size_of(d);
    const double quarters = std::round(load_element(d, p) * 4) / 4;
    store_element(d, p, dice.one_in(50) ? std::nan("") : quarters);
  }
  Wants want(at(halves), {0});
  for (const double v : values_of(x))
    for (int64_t k = 0; k < halves; ++k) {
      const double from = low + static_cast<double>(k) / 2, to = from + 0.5;
      if (v >= from && (v < to || (k == halves - 1 && v == to))) want[at(k)].value += 1;
    }
  return {fmt::format("{} n {} from {} to {} parts {}", name(d), n, low, high, halves),
          with_threads(
              [&] {
                const Tensor counts = Tensor::of(Values(at(halves), 0.0), {halves}, DType::f64);
                cpu::histogram(x, halves, low, high, counts.data_as<double>());
                return std::vector<Tensor>{counts};
              },
              [&](const std::vector<Tensor>& r) { return differs("counts", r[0], want); })};
}

const Family kFamily("search", {{"search", 300, search},
                                {"unique", 300, unique},
                                {"count", 400, count},
                                {"histogram", 400, histogram}});

}  // namespace
}  // namespace rille::shapes
