// Layers without parameters that do more than one op says. The stored values come from torch 2.15
// in f64, on inputs as waves.h says.
#include <algorithm>

#include "api/waves.h"

using namespace rille;
using namespace rille::test;
using List = std::vector<double>;

namespace {

Tensor counted(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return arange(1, n, {.dtype = Dtype::f64}).reshape(shape);
}

}  // namespace

TEST_CASE("padding along one, two and three dims") {
  const Tensor line = counted({1, 1, 3}), image = counted({1, 1, 2, 2});
  near(nn::ZeroPad1d({1, 2})(line), {0, 1, 2, 3, 0, 0});
  near(nn::ConstantPad1d(1, {.value = 7})(line), {7, 1, 2, 3, 7});
  near(nn::ReflectionPad1d(1)(line), {2, 1, 2, 3, 2});
  near(nn::ReplicationPad1d(2)(line), {1, 1, 1, 2, 3, 3, 3});
  near(nn::CircularPad1d({1, 0})(line), {3, 1, 2, 3});
  near(nn::ZeroPad2d({1, 0, 0, 1})(image), {0, 1, 2, 0, 3, 4, 0, 0, 0});
  near(nn::ConstantPad2d({0, 1, 1, 0}, {.value = 7})(image), {7, 7, 7, 1, 2, 7, 3, 4, 7});
  near(nn::ReflectionPad2d(1)(image), {4, 3, 4, 3, 2, 1, 2, 1, 4, 3, 4, 3, 2, 1, 2, 1});
  near(nn::ReplicationPad2d({1, 0, 0, 1})(image), {1, 1, 2, 3, 3, 4, 3, 3, 4});
  near(nn::CircularPad2d({1, 0, 1, 0})(image), {4, 3, 4, 2, 1, 2, 4, 3, 4});
  const Tensor volume = counted({1, 1, 2, 2, 2});
  near(nn::ZeroPad3d({0, 0, 0, 0, 1, 0})(volume), {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8});
  near(nn::ConstantPad3d({1, 0, 0, 0, 0, 0}, {.value = 7})(volume),
       {7, 1, 2, 7, 3, 4, 7, 5, 6, 7, 7, 8});
  near(nn::ReflectionPad3d({0, 0, 0, 0, 1, 0})(volume), {5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8});
  near(nn::ReplicationPad3d({0, 0, 0, 0, 0, 1})(volume), {1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8});
  near(nn::CircularPad3d({1, 0, 0, 0, 0, 0})(volume), {2, 1, 2, 4, 3, 4, 6, 5, 6, 8, 7, 8});
  CHECK(to_string(nn::ZeroPad2d(1)) == "ZeroPad2d(pads={1, 1, 1, 1})");
  CHECK(code_of([&] { nn::ReflectionPad1d(5)(line); }) == "E_SHAPE");
  CHECK(nn::Sequential(nn::ZeroPad2d(1), nn::Conv2d(1, 2, 3))(ones({1, 1, 4, 4})).shape() ==
        Shape{1, 2, 4, 4});
}

TEST_CASE("softmax over channels, images of another size") {
  near(nn::Softmax2d()(wave({1, 2, 2, 3}, 0.3)),
       {0.6539675469, 0.7031749511, 0.6643568165, 0.5453651271, 0.4002489368, 0.3098954621,
        0.3460324531, 0.2968250489, 0.3356431835, 0.4546348729, 0.5997510632, 0.6901045379});
  const Tensor image = wave({1, 1, 2, 2}, 0.3);
  near(nn::UpsamplingBilinear2d({.scale_factor = {2, 2}})(image),
       {0.1477601033, 0.2387518997, 0.329743696, 0.4207354924, 0.263784204, 0.3068786443,
        0.3499730847, 0.393067525, 0.3798083046, 0.3750053889, 0.3702024733, 0.3653995577,
        0.4958324052, 0.4431321336, 0.3904318619, 0.3377315903});
  near(nn::UpsamplingNearest2d({.size = {3, 4}})(image),
       {0.1477601033, 0.1477601033, 0.4207354924, 0.4207354924, 0.1477601033, 0.1477601033,
        0.4207354924, 0.4207354924, 0.4958324052, 0.4958324052, 0.3377315903, 0.3377315903});
}

TEST_CASE("slopes of RReLU are drawn in training alone") {
  const nn::RReLU layer({.lower = 0.1, .upper = 0.3});
  const Tensor x = Tensor::of(List(500, -1));
  const List slopes = list(-layer(x));
  CHECK(*std::min_element(slopes.begin(), slopes.end()) >= 0.1f);
  CHECK(*std::max_element(slopes.begin(), slopes.end()) <= 0.3f);
  CHECK(rille::std(Tensor::of(slopes)).item<double>() > 0.04);
  CHECK(list(layer(-x)) == List(500, 1));
  near(layer.eval()(Tensor::of({-1, 0, 2}, Dtype::f64)), {-0.2, 0, 2});
  CHECK(code_of([] { nn::RReLU({.lower = 0.5, .upper = 0.2}); }) == "E_ARG");
}

TEST_CASE("slopes of RReLU are those of scripts") {
  Interpreter lua{{.seed = 3}};
  lua.run_string(R"(
    local rille = require "rille"
    y = rille.nn.RReLU(0.1, 0.3)(rille.randn(50))
  )")
      .value();
  seed(3);
  CHECK(equal(nn::RReLU({.lower = 0.1, .upper = 0.3})(randn({50})), lua.get<Tensor>("y")));
}

TEST_CASE("the triplet loss with a distance of one's own") {
  const auto along = [](const Tensor& a, const Tensor& b) { return sum(abs(a - b), {.dims = -1}); };
  const Tensor a = wave({2, 3}, 0), b = wave({2, 3}, 1), c = wave({2, 3}, 2);
  const nn::TripletMarginWithDistanceLoss loss({.distance = along, .margin = 2, .swap = true});
  near(loss(a, b, c), {2.203714089});
  const nn::TripletMarginWithDistanceLoss plain({.reduction = "none"});
  near(plain(a, b, c), {0.7040170094, 0.6139077184});
  near(plain(a, b, c), list(triplet_margin_loss(a, b, c, {.reduction = "none"})));
  CHECK(code_of([] { nn::TripletMarginWithDistanceLoss({.reduction = "all"}); }) == "E_ARG");
}
