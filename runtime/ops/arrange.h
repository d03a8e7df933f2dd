// Ops that put the elements of one tensor in another order or place: turned, padded, spread out on
// diagonals.
#pragma once
#include "ops/op.h"

namespace rille {

struct Flip {
  struct Args {
    Tensor x;
    Axes dims;
  };
  static constexpr std::string_view name = "flip";
  static constexpr std::string_view doc =
      "x with the order of elements along some dims turned around, copied.";
  static constexpr std::string_view example = "rille.arange(1, 3):flip(1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dims", &Args::dims, "default: all")};
  static constexpr bool narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Flip>& b);
  static void samples(SampleList& s);
};

struct Roll {
  struct Args {
    Tensor x;
    PerDim shifts;
    Axes dims;
  };
  static constexpr std::string_view name = "roll";
  static constexpr std::string_view doc =
      "x moved along some dims; what leaves at the end comes in at the start. Without dims, x as "
      "one row.";
  static constexpr std::string_view example = "rille.arange(1, 5):roll(2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("shifts", &Args::shifts, "by how much, each dim").required(),
             field("dims", &Args::dims, "default: x is flattened for it")};
  static constexpr bool narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Roll>& b);
  static void samples(SampleList& s);
};

struct Rot90 {
  struct Args {
    Tensor x;
    int64_t k = 1;
    Axes dims = {0, 1};
  };
  static constexpr std::string_view name = "rot90";
  static constexpr std::string_view doc =
      "x turned k quarters in the plane of two dims, from the first to the second.";
  static constexpr std::string_view example = "rille.rot90(rille.ones(2, 3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "at least two dims"), field("k", &Args::k, "quarters"),
             field("dims", &Args::dims, "the plane")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Tril {
  struct Args {
    Tensor x;
    int64_t k = 0;
  };
  static constexpr std::string_view name = "tril";
  static constexpr std::string_view doc =
      "The lower triangle of each matrix, up to diagonal k; zeros above.";
  static constexpr std::string_view example = "rille.ones(3, 3):tril()";
  static constexpr auto fields = Fields{field("x", &Args::x, "at least two dims"),
                                        field("k", &Args::k, "last diagonal that stays")};
  static constexpr bool in_place = true, strided_out = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Tril>& b);
  static void samples(SampleList& s);
};

struct Triu {
  struct Args {
    Tensor x;
    int64_t k = 0;
  };
  static constexpr std::string_view name = "triu";
  static constexpr std::string_view doc =
      "The upper triangle of each matrix, from diagonal k on; zeros below.";
  static constexpr std::string_view example = "rille.ones(3, 3):triu(1)";
  static constexpr auto fields = Fields{field("x", &Args::x, "at least two dims"),
                                        field("k", &Args::k, "first diagonal that stays")};
  static constexpr bool in_place = true, strided_out = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Triu>& b);
  static void samples(SampleList& s);
};

// ---- diagonals ---------------------------------------------------------------------------------

struct DiagEmbed {
  struct Args {
    Tensor x;
    int64_t offset = 0;
    Axis dim1 = {-2}, dim2 = {-1};
  };
  static constexpr std::string_view name = "diag_embed";
  static constexpr std::string_view doc =
      "Matrices that hold the last dim of x on a diagonal and zeros elsewhere.";
  static constexpr std::string_view example = "rille.diag_embed(rille.ones(2, 3))";
  static constexpr auto fields = Fields{field("x", &Args::x, "at least one dim"),
                                        field("offset", &Args::offset, "which diagonal"),
                                        field("dim1", &Args::dim1, "counts the rows"),
                                        field("dim2", &Args::dim2, "counts the columns")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Diag {
  struct Args {
    Tensor x;
    int64_t offset = 0;
  };
  static constexpr std::string_view name = "diag";
  static constexpr std::string_view doc =
      "The matrix with that diagonal, or the diagonal of a matrix, copied.";
  static constexpr std::string_view example = "rille.diag(rille.ones(3))";
  static constexpr auto fields = Fields{field("x", &Args::x, "a vector or a matrix"),
                                        field("offset", &Args::offset, "which diagonal")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct DiagFlat {
  struct Args {
    Tensor x;
    int64_t offset = 0;
  };
  static constexpr std::string_view name = "diagflat";
  static constexpr std::string_view doc = "The matrix that has all elements of x on a diagonal.";
  static constexpr std::string_view example = "rille.diagflat(rille.ones(2, 2))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("offset", &Args::offset, "which diagonal")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- padding -----------------------------------------------------------------------------------

struct Pad {
  enum class Mode { constant, reflect, replicate, circular };
  struct Args {
    Tensor x;
    Counts pads;
    Mode mode = Mode::constant;
    double value = 0;
  };
  static constexpr std::string_view name = "pad";
  static constexpr std::string_view doc =
      "x with elements added before and after along its last dims, or cut off where a number is "
      "negative.";
  static constexpr std::string_view example = "rille.pad(rille.ones(2, 3), {1, 1}, { value = 7 })";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"),
      field("pads", &Args::pads, "before and after the last dim, then the one before it, ...")
          .required(),
      field("mode", &Args::mode, "what is added"), field("value", &Args::value, "of the constant")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 4> names_of(Pad::Mode) {
  return {"constant", "reflect", "replicate", "circular"};
}

/// The kernel of constant padding; its gradient is the same with the signs turned.
struct ConstantPad {
  struct Args {
    Tensor x;
    Counts pads;
    double value = 0;
  };
  static constexpr std::string_view name = "constant_pad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "pad with a constant.";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"),
      field("pads", &Args::pads, "before and after the last dim, then the one before it, ...")
          .required(),
      field("value", &Args::value, "what is added")};
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<ConstantPad>& b);
  static void samples(SampleList& s);
};

// ---- images ------------------------------------------------------------------------------------

struct PixelsAndChannels {
  struct Args {
    Tensor x;
    int64_t factor = 1;
  };
  static constexpr auto fields_of(std::string_view x) {
    return Fields{field("x", &Args::x, x), field("factor", &Args::factor, "r").required()};
  }
};

struct PixelShuffle : PixelsAndChannels {
  static constexpr std::string_view name = "pixel_shuffle";
  static constexpr std::string_view doc =
      "[..., c r r, h, w] as [..., c, h r, w r]: channels become pixels.";
  static constexpr std::string_view example = "rille.pixel_shuffle(rille.ones(1, 4, 2, 2), 2)";
  static constexpr auto fields = fields_of("[..., c r r, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct PixelUnshuffle : PixelsAndChannels {
  static constexpr std::string_view name = "pixel_unshuffle";
  static constexpr std::string_view doc =
      "[..., c, h r, w r] as [..., c r r, h, w]: pixels become channels.";
  static constexpr std::string_view example = "rille.pixel_unshuffle(rille.ones(1, 1, 4, 4), 2)";
  static constexpr auto fields = fields_of("[..., c, h r, w r]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct ChannelShuffle {
  struct Args {
    Tensor x;
    int64_t groups = 1;
  };
  static constexpr std::string_view name = "channel_shuffle";
  static constexpr std::string_view doc =
      "Channels in groups, dealt out so that each new group has some of every old one.";
  static constexpr std::string_view example = "rille.channel_shuffle(rille.ones(1, 4, 2, 2), 2)";
  static constexpr auto fields = Fields{field("x", &Args::x, "[n, c, ...]"),
                                        field("groups", &Args::groups, "divides c").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// Constant padding with 0; pads as in `pad`.
Tensor pad(const Tensor& x, const std::vector<int64_t>& pads);
Tensor flip(const Tensor& x, int64_t dim);

}  // namespace rille
