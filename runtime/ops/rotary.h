// Positions as rotations of queries and keys.
#pragma once
#include "ops/op.h"

namespace rille {

/// The gradient is the rotation back, so the op is its own gradient with `inverse` turned over.
struct RotaryEmbedding {
  struct Args {
    Tensor x;
    std::optional<Tensor> positions = {};
    double base = 10000;
    int64_t offset = 0;
    std::optional<int64_t> width = {};
    bool interleaved = false;
    bool inverse = false;
  };
  static constexpr std::string_view name = "rotary_embedding";
  static constexpr std::string_view doc =
      "Turns pairs of elements of the last dim by position * base^(-2 pair / width), so that "
      "products of "
      "queries and keys depend on how far apart they stand. Pairs are (i, i + width / 2).";
  static constexpr std::string_view example = "rille.rotary_embedding(rille.ones(1, 2, 3, 4))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., time, n]"),
             field("positions", &Args::positions,
                   "ids from 0, broadcast with [..., time]; default: 0, 1, 2...")
                 .saved(),
             field("base", &Args::base, "the longest wave is about 2 * pi * base"),
             field("offset", &Args::offset, "added to the positions: how many came before"),
             field("width", &Args::width, "first elements to turn, an even number; default: all"),
             field("interleaved", &Args::interleaved, "pairs are (2 i - 1, 2 i)"),
             field("inverse", &Args::inverse, "turns back")};
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<RotaryEmbedding>& b);
  static void samples(SampleList& s);
};

}  // namespace rille
