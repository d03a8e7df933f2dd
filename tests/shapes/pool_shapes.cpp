// Pooling, windows of images and resampling against loops over the windows.
#include "cpu/pool.h"

#include <limits>

#include "core/fail.h"
#include "cpu/fold.h"
#include "cpu/resample.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Pool;

int64_t product(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

Pool choose(Dice& dice) {
  constexpr int64_t kImage[] = {500, 50, 14};
  Pool p;
  p.dims = static_cast<int>(dice.between(1, 3));
  p.planes = dice.size(40);
  p.adaptive = dice.one_in(4);
  p.count_padding = dice.flip();
  p.divisor = dice.one_in(5) ? dice.between(1, 9) : 0;
  for (int d = 0; d < p.dims; ++d) {
    p.in[d] = dice.size_from_1(kImage[p.dims - 1]);
    if (p.adaptive) {
      p.out[d] = dice.between(1, p.in[d] + 3);
      continue;
    }
    p.kernel[d] = dice.between(1, p.dims == 1 ? 9 : 4);
    p.stride[d] = dice.between(1, 4);
    p.dilation[d] = dice.one_in(4) ? dice.between(1, 3) : 1;
    const int64_t reach = p.dilation[d] * (p.kernel[d] - 1) + 1;
    p.pad_begin[d] = dice.flip() ? dice.between(0, p.kernel[d] / 2) : 0;
    p.pad_end[d] = p.pad_begin[d];
    p.in[d] = std::max(p.in[d], reach);
    p.out[d] = cpu::pool_out(p.in[d], p.kernel[d], p.stride[d], p.dilation[d], p.pad_begin[d],
                             p.pad_end[d], dice.one_in(3));
  }
  return p;
}

std::string text(DType t, const Pool& p) {
  std::string s = fmt::format("{} planes {} adaptive {} padding {} divisor {}:", name(t), p.planes,
                              p.adaptive, p.count_padding, p.divisor);
  for (int d = 0; d < p.dims; ++d)
    s += fmt::format(" [in {} out {} kernel {} stride {} dilation {} pad {}]", p.in[d], p.out[d],
                     p.kernel[d], p.stride[d], p.dilation[d], p.pad_begin[d]);
  return s;
}

// Calls f(place, inside) for each tap of window `o`, and returns how many elements an average of it
// counts: those inside, or with the padding (but not what hangs over its end).
template <class F>
int64_t each_tap(const Pool& p, int64_t o, const F& f) {
  const int64_t os[3] = {o / (p.out[1] * p.out[2]), o / p.out[2] % p.out[1], o % p.out[2]};
  std::vector<int64_t> taps[3];
  for (int d = 0; d < 3; ++d) {
    if (p.adaptive) {
      const int64_t end = ((os[d] + 1) * p.in[d] + p.out[d] - 1) / p.out[d];
      for (int64_t i = os[d] * p.in[d] / p.out[d]; i < end; ++i) taps[d].push_back(i);
    } else {
      for (int64_t k = 0; k < p.kernel[d]; ++k)
        taps[d].push_back(os[d] * p.stride[d] + k * p.dilation[d] - p.pad_begin[d]);
    }
  }
  int64_t counted = 0;
  for (const int64_t a : taps[0])
    for (const int64_t b : taps[1])
      for (const int64_t c : taps[2]) {
        const int64_t at_d[3] = {a, b, c};
        bool inside = true, room = true;
        for (int d = 0; d < 3; ++d) {
          inside = inside && at_d[d] >= 0 && at_d[d] < p.in[d];
          room = room && at_d[d] < p.in[d] + p.pad_end[d];
        }
        counted += p.count_padding ? room : inside;
        if (inside) f((a * p.in[1] + b) * p.in[2] + c);
      }
  return counted;
}

Array input(Dice& dice, DType d, int64_t n, double nan_share = 0) {
  Values v = dice.values(n, is_float(d) || d == DType::u8 ? 0 : -50, is_float(d) ? 2 : 50);
  for (double& e : v) {
    if (!is_float(d)) e = std::floor(e);
    // few different numbers, so that some are equal
    if (is_float(d)) e = std::floor(e * 16) / 16 - 1;
    if (is_float(d) && dice.real(0, 1) < nan_share) e = std::nan("");
  }
  return Array(d, v, dice);
}

double lowest(DType d) {
  if (d == DType::boolean) return 0;
  return is_float(d) ? -std::numeric_limits<double>::infinity()
                     : static_cast<double>(int_info(d).min);
}

Outcome max_pool(Dice& dice) {
  const Pool p = choose(dice);
  const DType d = dice.one_in(4) ? dice.any_type() : dice.float_type();
  const Array x = input(dice, d, p.planes * product(p.in), dice.one_in(4) ? 0.02 : 0);
  const Values v = x.values();
  const int64_t out = product(p.out), in = product(p.in);
  Wants y, ids;
  std::vector<Sum> sums(v.size());
  const Array dy = input(dice, is_float(d) ? d : DType::f32, p.planes * out);
  const Values dys = dy.values();
  for (int64_t plane = 0; plane < p.planes; ++plane)
    for (int64_t o = 0; o < out; ++o) {
      double best = lowest(d);
      int64_t where = -1;
      each_tap(p, o, [&](int64_t place) {
        const double e = v[at(plane * in + place)];
        if (where < 0 || std::isnan(e) || (!std::isnan(best) && e > best)) best = e, where = place;
      });
      y.push_back({best}), ids.push_back({static_cast<double>(where)});
      if (where >= 0) sums[at(plane * in + where)].add(dys[at(plane * out + o)]);
    }
  Wants dx;
  for (const Sum& s : sums) dx.push_back(s.in(dy.dtype()));
  const bool with_ids = dice.flip();
  const Arrays outs{Array(d, p.planes * out, dice), Array(DType::i64, p.planes * out, dice),
                    Array(dy.dtype(), p.planes * in, dice)};
  return {text(d, p), with_threads(
                          outs,
                          [&](Arrays& r) {
                            auto* places = static_cast<int64_t*>(r[1].data());
                            if (!with_ids) cpu::max_pool(d, p, x.data(), r[0].data(), nullptr);
                            if (with_ids) cpu::max_pool(d, p, x.data(), r[0].data(), places);
                            if (with_ids)
                              cpu::max_pool_backward(dy.dtype(), p, dy.data(), places, r[2].data());
                          },
                          [&](const Arrays& r) {
                            std::string wrong = differs("y", r[0], y);
                            if (wrong.empty() && with_ids) wrong = differs("ids", r[1], ids);
                            if (wrong.empty() && with_ids) wrong = differs("dx", r[2], dx);
                            return wrong;
                          })};
}

Outcome avg_pool(Dice& dice) {
  Pool p = choose(dice);
  const bool whole = dice.one_in(5);
  if (whole) p.divisor = 0;  // a quotient by less than the count may not fit

  const DType d = whole ? dice.any_of({DType::i64, DType::i32, DType::i8}) : dice.float_type();
  const int64_t out = product(p.out), in = product(p.in);
  const Array x = input(dice, d, p.planes * in), dy = input(dice, d, p.planes * out);
  const Values v = x.values(), dys = dy.values();
  Wants y;
  std::vector<Sum> sums(v.size());
  for (int64_t plane = 0; plane < p.planes; ++plane)
    for (int64_t o = 0; o < out; ++o) {
      Sum sum;
      int64_t count = each_tap(p, o, [&](int64_t place) { sum.add(v[at(plane * in + place)]); });
      if (p.divisor) count = p.divisor;
      if (whole) {
        y.push_back(
            {count ? std::trunc(static_cast<double>(sum.value) / static_cast<double>(count)) : 0});
        continue;
      }
      sum.value /= static_cast<long double>(count), sum.size /= static_cast<long double>(count);
      y.push_back(sum.in(d, 5));
      each_tap(p, o, [&](int64_t place) {
        sums[at(plane * in + place)].add(dys[at(plane * out + o)] / static_cast<double>(count));
      });
    }
  Wants dx;
  for (const Sum& s : sums) dx.push_back(s.in(d, 5));
  const Arrays outs{Array(d, p.planes * out, dice), Array(d, p.planes * in, dice)};
  return {text(d, p), with_threads(
                          outs,
                          [&](Arrays& r) {
                            cpu::avg_pool(d, p, x.data(), r[0].data());
                            if (!whole) cpu::avg_pool_backward(d, p, dy.data(), r[1].data());
                          },
                          [&](const Arrays& r) {
                            const std::string wrong = differs("y", r[0], y);
                            return wrong.empty() && !whole ? differs("dx", r[1], dx) : wrong;
                          })};
}

Outcome windows(Dice& dice) {
  cpu::Windows w{};
  w.planes = dice.size(9);
  for (int d = 0; d < 2; ++d) {
    w.kernel[d] = dice.between(1, 4), w.dilation[d] = dice.between(1, 2);
    w.padding[d] = dice.between(0, 3), w.stride[d] = dice.between(1, 3);
    const int64_t reach = w.dilation[d] * (w.kernel[d] - 1) + 1;
    w.size[d] = std::max(dice.size_from_1(40), reach - 2 * w.padding[d]);
    w.count[d] = (w.size[d] + 2 * w.padding[d] - reach) / w.stride[d] + 1;
  }
  const DType d = dice.float_type();
  const Tensor images = packed_tensor(dice, {w.planes, w.size[0], w.size[1]}, d);
  const Tensor columns =
      packed_tensor(dice, {w.planes, w.kernel[0], w.kernel[1], w.count[0], w.count[1]}, d);
  const Values image = values_of(images), column = values_of(columns);
  Wants unfolded;
  std::vector<Sum> sums(image.size());
  Index i(columns.shape());
  for (int64_t k = 0; k < columns.numel(); ++k, i.next()) {
    const int64_t y = i[3] * w.stride[0] - w.padding[0] + i[1] * w.dilation[0],
                  x = i[4] * w.stride[1] - w.padding[1] + i[2] * w.dilation[1];
    const bool inside = y >= 0 && y < w.size[0] && x >= 0 && x < w.size[1];
    const size_t place = inside ? at((i[0] * w.size[0] + y) * w.size[1] + x) : 0;
    unfolded.push_back({inside ? image[place] : 0});
    if (inside) sums[place].add(column[at(k)]);
  }
  Wants folded;
  for (const Sum& s : sums) {
    folded.push_back(s.in(d));
    // 16-bit sums may be kept in 16 bits
    folded.back().slack +=
        static_cast<double>(s.terms) * unit_roundoff(d) * static_cast<double>(s.size);
  }
  return {fmt::format("{} planes {} size {} {} kernel {} {} stride {} {}", name(d), w.planes,
                      w.size[0], w.size[1], w.kernel[0], w.kernel[1], w.stride[0], w.stride[1]),
          with_threads(
              [&] {
                std::vector<Tensor> r{Tensor::empty(columns.shape(), d),
                                      Tensor::empty(images.shape(), d)};
                unfold_windows(w, images, r[0]);
                fold_windows(w, columns, r[1]);
                return r;
              },
              [&](const std::vector<Tensor>& r) {
                const std::string wrong = differs("unfold", r[0], unfolded);
                return wrong.empty() ? differs("fold", r[1], folded) : wrong;
              })};
}

Outcome resample(Dice& dice) {
  const DType d = dice.any_of({DType::f32, DType::f64});
  const int64_t outer = dice.size(20), in = dice.size_from_1(90), inner = dice.size(70);
  cpu::Taps taps;
  for (int64_t n = dice.size(120); n > 0; --n) {
    for (int64_t t = dice.between(0, 4); t > 0; --t) {
      taps.at.push_back(dice.between(0, in - 1));
      taps.weight.push_back(dice.real(-1, 1));
    }
    taps.first.push_back(static_cast<int64_t>(taps.at.size()));
  }
  const Array x(d, dice.values(outer * in * inner), dice),
      dy(d, dice.values(outer * taps.size() * inner), dice);
  const Values v = x.values(), dys = dy.values();
  std::vector<Sum> y(dys.size()), dx(v.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t p = 0; p < taps.size(); ++p)
      for (int64_t t = taps.first[at(p)]; t < taps.first[at(p + 1)]; ++t)
        for (int64_t i = 0; i < inner; ++i) {
          const size_t from = at((o * in + taps.at[at(t)]) * inner + i),
                       to = at((o * taps.size() + p) * inner + i);
          y[to].add(taps.weight[at(t)], v[from]);
          dx[from].add(taps.weight[at(t)], dys[to]);
        }
  const auto wants = [&](const std::vector<Sum>& sums) {
    Wants want;
    for (const Sum& s : sums) want.push_back(s.in(d, 5));
    return want;
  };
  return {fmt::format("{} {} x {} -> {} x {}", name(d), outer, in, taps.size(), inner),
          with_threads(
              {Array(d, dy.size(), dice), Array(d, x.size(), dice)},
              [&](Arrays& r) {
                cpu::resample(d, taps, outer, in, inner, x.data(), r[0].data());
                cpu::resample_backward(d, taps, outer, in, inner, dy.data(), r[1].data());
              },
              [&](const Arrays& r) {
                const std::string wrong = differs("y", r[0], wants(y));
                return wrong.empty() ? differs("dx", r[1], wants(dx)) : wrong;
              })};
}

const Family kFamily("pool", {{"max", 500, max_pool},
                              {"avg", 500, avg_pool},
                              {"windows", 400, windows},
                              {"resample", 400, resample}});

}  // namespace
}  // namespace rille::shapes
