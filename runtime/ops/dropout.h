// Dropout. What is dropped is worked out again from the draw in backward: no mask is kept.
#pragma once
#include "ops/op.h"

namespace rille {

/// What the forms of dropout that scripts call share.
struct DropoutOp {
  struct Args {
    Tensor x;
    double p = 0.5;
    bool training = true;
    Draw draw = {};
  };
  static constexpr bool in_place = true;
  static constexpr auto fields_of(std::string_view x, std::string_view p = "probability of 0") {
    return Fields{field("x", &Args::x, x), field("p", &Args::p, p),
                  field("training", &Args::training, "false: x as it is"),
                  field("draw", &Args::draw, "numbers")};
  }
};

struct Dropout : DropoutOp {
  static constexpr std::string_view name = "dropout";
  static constexpr std::string_view doc =
      "0 with probability p in each place, else x / (1 - p); x itself unless training.";
  static constexpr std::string_view example = "rille.dropout(rille.ones(2, 3), 0.1)";
  static constexpr auto fields = fields_of("a float tensor");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct DropoutDrawn {
  struct Args {
    Tensor x;
    double p = 0.5;
    Draw draw = {};
  };
  static constexpr std::string_view name = "dropout_drawn";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "0 with probability p in each place, else x / (1 - p).";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "a float tensor"), field("p", &Args::p, "probability of 0"),
             field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<DropoutDrawn>& b);
  static void samples(SampleList& s);
};

/// Whole channels (dim 2, or dim 1 where there is no batch) are dropped.
struct Dropout1d : DropoutOp {
  static constexpr std::string_view name = "dropout1d";
  static constexpr std::string_view doc = "Dropout of whole channels of [n, channels, length].";
  static constexpr std::string_view example = "rille.dropout1d(rille.ones(1, 4, 2), 0.5)";
  static constexpr auto fields = fields_of("[n, channels, length], n may be left out");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Dropout2d : DropoutOp {
  static constexpr std::string_view name = "dropout2d";
  static constexpr std::string_view doc =
      "Dropout of whole channels of [n, channels, height, width].";
  static constexpr std::string_view example = "rille.dropout2d(rille.ones(1, 4, 2, 2), 0.5)";
  static constexpr auto fields = fields_of("[n, channels, height, width], n may be left out");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Dropout3d : DropoutOp {
  static constexpr std::string_view name = "dropout3d";
  static constexpr std::string_view doc =
      "Dropout of whole channels of [n, channels, depth, height, width].";
  static constexpr std::string_view example = "rille.dropout3d(rille.ones(1, 4, 2, 2, 2), 0.5)";
  static constexpr auto fields =
      fields_of("[n, channels, depth, height, width], n may be left out");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AlphaDropout : DropoutOp {
  static constexpr std::string_view name = "alpha_dropout";
  static constexpr std::string_view doc =
      "Dropout for selu networks: dropped places take selu's lower limit, and a scale and a shift "
      "keep "
      "mean and variance.";
  static constexpr std::string_view example = "rille.alpha_dropout(rille.randn(2, 3), 0.1)";
  static constexpr auto fields = fields_of("a float tensor", "probability of being dropped");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct FeatureAlphaDropout : DropoutOp {
  static constexpr std::string_view name = "feature_alpha_dropout";
  static constexpr std::string_view doc = "alpha_dropout of whole channels of [n, channels, ...].";
  static constexpr std::string_view example =
      "rille.feature_alpha_dropout(rille.randn(2, 3, 4), 0.1)";
  static constexpr auto fields = fields_of("[n, channels, ...]", "probability of being dropped");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
