// Ops that only gradients and layers call check their arguments as any other: each of these calls
// crashed, or gave what lay in memory beside its arguments.
#include "ops/checks.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/conv.h"
#include "ops/create.h"
#include "ops/cross_entropy.h"
#include "ops/ctc_loss.h"
#include "ops/embedding.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/recurrent.h"
#include "ops/resize.h"
#include "ops/strided.h"

using namespace rille;

namespace {

constexpr Device kMeta{DeviceType::meta, 0};

Tensor ones(const Shape& shape, DType d = DType::f32) { return full(shape, 1, d); }
Tensor id(int64_t value, const Shape& shape = {1}) {
  return full(shape, static_cast<double>(value), DType::i64);
}

template <class F>
std::string code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return "none";
}

// The code of the error that a call of the op ends with.
template <class O>
std::string code(const typename O::Args& a) {
  return code_of([&] { call<O>(a); });
}

}  // namespace

TEST_CASE("internal ops check shapes, dtypes and numbers") {
  CHECK(code<Convolution>({.x = ones({1, 1, 4}), .weight = ones({1, 1, 2}), .groups = 5}) ==
        "E_SHAPE");
  CHECK(code<ConvolutionWeight>({.x = ones({3, 33, 5}, DType::f16),
                                 .y = ones({3, 33, 17}, DType::f16),
                                 .size = {},
                                 .stride = {5},
                                 .begin = {1}}) == "E_ARG");
  CHECK(code<MaxPool>({.x = ones({1, 1, 4}), .out = {2}, .dilation = {0}}) == "E_ARG");
  CHECK(code<MaxPoolIds>({.x = ones({33, 17, 1}),
                          .out = {4},
                          .kernel = {-1, 1, 0, 5, -2},
                          .stride = {5, 4, 4, 2, 0, 5, 3, 0},
                          .dilation = {-2}}) == "E_ARG");
  CHECK(code<AvgPoolGrad>({.dy = ones({2, 8}), .size = {2, 4}, .out = {-1}}) == "E_ARG");
  CHECK(code<LstmStepGrad>({ones({2, 3}), ones({2, 3}), ones({2}), ones({2})}) == "E_SHAPE");
  CHECK(code<RmsNormGrad>({.x = ones({1, 3}),
                           .dy = ones({1, 3}),
                           .rstd = ones({1, 33}),
                           .weight = ones({17, 3}),
                           .dims = -(int64_t{1} << 31)}) == "E_ARG");
  CHECK(code<CrossEntropyGrad>({ones({5, 8}), ones({0}), ones({3, 8}), ones({1})}) == "E_DTYPE");
  CHECK(code<ResampleGrad>({.dy = ones({}), .dim = {1}, .in = INT64_MAX - 1}) == "E_SHAPE");
  CHECK(code<ResampleGrad>({.dy = ones({3}), .dim = {0}, .in = 3, .scale = HUGE_VAL}) == "E_ARG");
  CHECK(code<CtcLossGrad>({ones({2, 1, 3}), id(1, {1, 1}), id(2), id(1), ones({1}), ones({1}),
                           ones({1, 2, 2})}) == "E_SHAPE");
}

TEST_CASE("internal ops check ids before they write") {
  CHECK(code<EmbeddingGrad>({ones({1, 4}), id(1 << 30), 2}) == "E_INDEX");
  CHECK(code<PoolPlace>({.y = ones({1, 3}), .ids = id(1 << 20, {1, 3}), .size = {5}}) == "E_INDEX");
  CHECK(code<CtcLossGrad>({ones({2, 1, 3}), id(3, {1, 1}), id(2), id(1), ones({1}), ones({1}),
                           ones({1, 2, 3})}) == "E_INDEX");
  const Tensor weight = full({4, 2}, 10, DType::f32);
  CHECK(code<Embedding>({.ids = id(4), .weight = weight, .max_norm = 1.0}) == "E_INDEX");
  CHECK(weight.to_vector() == std::vector<double>(8, 10.0));
}

TEST_CASE("a composition checks what a kernel checks") {
  CHECK(code_of([&] {
          call<PoolPlace>({.y = Tensor::empty({1, 3}, DType::f32, kMeta),
                           .ids = Tensor::empty({2}, DType::i64, kMeta),
                           .size = {5}});
        }) == "E_SHAPE");
}

TEST_CASE("a form in place refuses an operand without values") {
  const Tensor x = ones({}), y = Tensor::empty(Shape{}, DType::f32, kMeta);
  CHECK(code_of([&] { call_<Mul>({.x = x, .y = y}); }) == "E_DEVICE_MISMATCH");
  CHECK(x.item() == 1);
  CHECK(code_of([&] { y.item(); }) == "E_NO_KERNEL");
}

TEST_CASE("ids of triangles are those that a plain count finds") {
  for (const int64_t rows : {0, 1, 3, 5})
    for (const int64_t cols : {0, 1, 2, 7})
      for (const int64_t offset : {INT64_MIN, int64_t{-6}, int64_t{-2}, int64_t{0}, int64_t{1},
                                   int64_t{4}, int64_t{9}, INT64_MAX}) {
        std::vector<double> lower, upper;
        for (const bool column : {false, true})
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j)
              (j - i <= offset ? lower : upper).push_back(static_cast<double>(column ? j : i));
        CHECK(call<TrilIndices>({.rows = rows, .cols = cols, .offset = offset}).to_vector() ==
              lower);
        if (offset == INT64_MAX) continue;  // the next one is none
        CHECK(call<TriuIndices>({.rows = rows, .cols = cols, .offset = offset + 1}).to_vector() ==
              upper);
      }
}
