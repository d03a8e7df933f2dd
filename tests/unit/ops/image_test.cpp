// Convolution, pooling and resizing as scripts call them, against PyTorch 2.15 in double: the
// arguments are sin(1.3 k) for k = 0, 1, 2, ...
#include "core/error.h"
#include "ops/conv.h"
#include "ops/pool.h"
#include "ops/resize.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

namespace {

Tensor wave(const Shape& s) {
  const Tensor t = Tensor::empty(s, DType::f64);
  for (int64_t k = 0; k < t.numel(); ++k)
    t.data_as<double>()[k] = std::sin(1.3 * static_cast<double>(k));
  return t;
}

}  // namespace

TEST_CASE("convolutions with everything that moves their windows", "[image]") {
  const Tensor x = wave({1, 2, 4, 4}), w = wave({2, 2, 3, 2});
  check_values(call<Conv2d>({.x = x,
                             .weight = w,
                             .bias = f64({0.1, -0.2}),
                             .stride = {2, 1},
                             .padding = {1, 0},
                             .dilation = {1, 2}}),
               {0.728580677503242, 0.720140929762874, 0.980560269908265, 0.964601492481965,
                -0.849626771430919, -0.731618458149164, -1.16950983682773, -1.00878715262842});
  const Tensor wide = call<Conv2d>({.x = x, .weight = w, .padding = Padding(Padding::Word::same)});
  CHECK(wide.shape() == Shape{1, 2, 4, 4});
  CHECK(wide.at(0) == Approx(0.614749950964934));
  CHECK(wide.at(15) == Approx(-0.629469064285878));
  check_values(
      call<Conv1d>({.x = wave({1, 4, 4}), .weight = wave({2, 2, 3}), .padding = {1}, .groups = 2}),
      {1.32348430440088, 1.82655413395964, -0.819304411612351, -1.63137596761188,
       -0.504926885124454, -2.48691958977665, -0.392298777568219, 1.44973289081077});
}

TEST_CASE("a transposed convolution is the adjoint of one", "[image]") {
  const Tensor w = wave({2, 3, 3, 2}), x = wave({1, 3, 5, 6});
  const Tensor y = call<Conv2d>({.x = x, .weight = w, .stride = {2}, .padding = {1}});
  const Tensor dy = wave(y.shape()) * 0.7;
  const Tensor back = call<ConvTranspose2d>(
      {.x = dy, .weight = w, .stride = {2}, .padding = {1}, .output_padding = {0, 0}});
  REQUIRE(back.shape() == Shape{1, 3, 5, 6});
  double left = 0, right = 0;
  for (int64_t i = 0; i < y.numel(); ++i) left += y.at(i) * dy.at(i);
  for (int64_t i = 0; i < x.numel(); ++i) right += x.at(i) * back.at(i);
  CHECK(left == Approx(right));
}

TEST_CASE("pools whose windows hang over the edges", "[image]") {
  const Tensor x = wave({1, 1, 5, 5});
  const auto max = call<MaxPool2d>({.x = x,
                                    .kernel = {3},
                                    .stride = {2},
                                    .padding = {1},
                                    .ceil_mode = true,
                                    .return_indices = true});
  check_values(max[0], {0.998543345374605, 0.998543345374605, -0.687766159183974, 0.998543345374605,
                        0.998543345374605, -0.419360916073231, 0.92879523407724, 0.92879523407724,
                        -0.214252540295884});
  check_values(max[1], {6, 6, 3, 6, 6, 19, 16, 16, 24});
  AvgPool2d::Args a{.x = x, .kernel = {2}, .stride = {2}, .padding = {1}, .ceil_mode = true};
  check_values(call<AvgPool2d>(a),
               {0, 0.369764889309664, -0.392805203726032, 0.158821756228614, 0.603041831074503,
                -0.780941722036335, 0.342024580049801, 0.331886644341085, -0.654756011288395});
  a.count_include_pad = false;
  check_values(call<AvgPool2d>(a),
               {0, 0.739529778619329, -0.785610407452064, 0.317643512457228, 0.603041831074503,
                -0.780941722036335, 0.684049160099602, 0.331886644341085, -0.654756011288395});
}

TEST_CASE("images at another size", "[image]") {
  using Mode = Interpolate::Mode;
  const Tensor x = wave({1, 1, 2, 3});
  const auto at = [&](PerDim size, Mode mode, bool corners = false) {
    return call<Interpolate>({.x = x, .size = size, .mode = mode, .align_corners = corners});
  };
  check_values(at({3, 5}, Mode::bilinear),
               {0, 0.385423274166877, 0.963558185417193, 0.694724097259756, 0.515501371821464,
                -0.343883079591987, -0.190309141815784, 0.04005176484852, 0.235207113912192,
                0.36531067995464, -0.687766159183974, -0.766041557798446, -0.883454655720153,
                -0.224309869435372, 0.215119988087816});
  check_values(at({3, 5}, Mode::bilinear, true),
               {0, 0.481779092708596, 0.963558185417193, 0.739529778619329, 0.515501371821464,
                -0.343883079591987, -0.151915657371734, 0.0400517648485199, 0.20268122240158,
                0.36531067995464, -0.687766159183974, -0.785610407452064, -0.883454655720153,
                -0.334167333816169, 0.215119988087816});
  check_values(at({3, 4}, Mode::bicubic),
               {-0.0166826096323336, 0.804382446030155, 1.03096685764699, 0.499779263159924,
                -0.371440902898996, -0.134033767913185, 0.199439664920507, 0.388656900911964,
                -0.726199196165659, -1.07244998185652, -0.632087527805971, 0.277534538664004});
  // Exact centres and PyTorch's older floor choose other neighbours.
  check_values(at({1, 5}, Mode::nearest), {0, 0, x.at(1), x.at(1), x.at(2)});
  check_values(at({2, 5}, Mode::nearest_exact),
               {0, 0, x.at(1), x.at(2), x.at(2), x.at(3), x.at(3), x.at(4), x.at(5), x.at(5)});
}

TEST_CASE("images read at coordinates", "[image]") {
  using Pads = GridSample::Padding;
  const Tensor x = wave({1, 1, 3, 4}), at = f64({-1.2, 0.3, 0.1, -0.4, 0.9, 1.1}, {1, 1, 3, 2});
  check_values(call<GridSample>({.x = x, .grid = at}),
               {-0.0858421971734629, 0.695357584815537, 0.24175913124728});
  check_values(call<GridSample>({.x = x, .grid = at, .padding_mode = Pads::border}),
               {-0.858421971734628, 0.695357584815537, 0.986771964274613});
  const Tensor same =
      call<AffineGrid>({.theta = f64({1, 0, 0, 0, 1, 0}, {1, 2, 3}), .size = {1, 1, 3, 4}});
  check_values(call<GridSample>({.x = x, .grid = same}), x.to_vector());
}
