// Masks of attention and of padded batches. Boolean ones are true where attention may look and for
// real tokens; additive ones hold 0 there and -inf elsewhere, ready to be added to scores.
#pragma once
#include "ops/op.h"

namespace rille {

struct AdditiveMask {
  struct Args {
    Tensor mask;
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "additive_mask";
  static constexpr std::string_view doc = "0 where a boolean mask is true, -inf where it is false.";
  static constexpr std::string_view example = "rille.additive_mask(rille.causal_mask(3))";
  static constexpr auto fields = Fields{field("mask", &Args::mask, "bool"),
                                        field("dtype", &Args::dtype, "default: the default dtype")};
  static constexpr bool differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct CausalMask {
  struct Args {
    int64_t size = 0;
    bool additive = false;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "causal_mask";
  static constexpr std::string_view doc =
      "[size, size]: position i may look at the positions up to i.";
  static constexpr std::string_view example = "rille.causal_mask(3)";
  static constexpr auto fields =
      Fields{field("size", &Args::size, "positions").required(),
             field("additive", &Args::additive, "0 and -inf, not booleans"),
             field("dtype", &Args::dtype, "of an additive mask; default: the default dtype"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct PaddingMask {
  struct Args {
    Tensor ids;
    int64_t pad = 0;
    bool additive = false;
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "padding_mask";
  static constexpr std::string_view doc =
      "True where an id is a real token, false where it is padding.";
  static constexpr std::string_view example =
      "rille.padding_mask(rille.tensor({{4, 2, 0}}, { dtype = 'i64' }), 0)";
  static constexpr auto fields =
      Fields{field("ids", &Args::ids, "token ids"), field("pad", &Args::pad, "the id of padding"),
             field("additive", &Args::additive, "0 and -inf, not booleans"),
             field("dtype", &Args::dtype, "of an additive mask; default: the default dtype")};
  static constexpr bool differentiable = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct LengthsToMask {
  struct Args {
    Tensor lengths;
    std::optional<int64_t> max = {};
  };
  static constexpr std::string_view name = "lengths_to_mask";
  static constexpr std::string_view doc =
      "For each length a row that is true in as many places, false behind them.";
  static constexpr std::string_view example =
      "rille.lengths_to_mask(rille.tensor({2, 3}, { dtype = 'i64' }))";
  static constexpr auto fields =
      Fields{field("lengths", &Args::lengths, "integers"),
             field("max", &Args::max, "places in a row; default: the largest length")};
  static constexpr bool differentiable = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
