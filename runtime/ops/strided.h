// Looking at memory by strides, and the way back: every view's gradient is its values put where the
// view looked, zeros elsewhere. The history of in-place writes through views (autograd/node.h) is
// made of the same three ops.
#pragma once
#include "autograd/node.h"
#include "ops/op.h"

namespace rille {

struct AsStrided {
  struct Args {
    Tensor x;
    Sizes size, strides;
    std::optional<int64_t> offset = {};
  };
  static constexpr std::string_view name = "as_strided";
  static constexpr std::string_view doc =
      "A look at the memory of x with any sizes, strides and offset, counted in elements from 0.";
  static constexpr std::string_view example = "rille.as_strided(rille.ones(6), {2, 2}, {1, 2})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("size", &Args::size, "sizes of the result").required(),
             field("stride", &Args::strides, "elements from one to the next, each dim").required(),
             field("offset", &Args::offset, "of the first element; default: that of x")};
  static View view(const Args& a);
  static Args grad(const Back<AsStrided>& b);
  static void samples(SampleList& s);
};

/// y = zeros(shape), then y.as_strided(stride, offset) += x. Elements that meet are added in order.
struct StridedPlace {
  struct Args {
    Tensor x;
    Sizes shape, strides;
    int64_t offset = 0;
  };
  static constexpr std::string_view name = "strided_place";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "Zeros of a shape, with x added where a look with those strides and that offset would see.";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("shape", &Args::shape, "of the result").required(),
      field("stride", &Args::strides, "where x goes").required(),
      field("offset", &Args::offset, "where its first element goes")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<StridedPlace>& b);
  static void samples(SampleList& s);
};

/// A row-major copy of x whose part that such a look sees is replaced by source.
struct AsStridedScatter {
  struct Args {
    Tensor x, source;
    Sizes size, strides;
    int64_t offset = 0;
  };
  static constexpr std::string_view name = "as_strided_scatter";
  static constexpr std::string_view doc =
      "A copy of x, read row by row, where what as_strided would show of it is replaced by source.";
  static constexpr std::string_view example =
      "rille.as_strided_scatter(rille.zeros(6), rille.ones(2), {2}, {3}, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("source", &Args::source, "the new values; broadcasts to size"),
             field("size", &Args::size, "sizes of the look").required(),
             field("stride", &Args::strides, "its strides").required(),
             field("offset", &Args::offset, "its first element")};
  static constexpr bool broadcasts = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<AsStridedScatter>& b);
  static void samples(SampleList& s);
};

/// Zeros of `shape` with `dy` where `v` looks at a row-major tensor of that shape.
Tensor place(const Tensor& dy, const Shape& shape, const View& v);
/// What `v` sees of `x`, taken as a row-major tensor (it is made one first).
Tensor look_at(const Tensor& x, const View& v);
/// A tensor without memory, row-major: what a view would look at is asked of it.
Tensor outline(const Shape& shape, DType dtype);
/// True where two indices of such a look may reach one element.
bool may_overlap(const Shape& shape, const Strides& strides);

/// Base of views that see a part of x: the gradient goes back to that part.
template <class O>
struct PartialView {
  template <class B>
  static auto grad(const B& b) -> typename B::Args {
    typename B::Args a = b.a, g{};
    a.x = outline(b.a.x.shape(), b.a.x.dtype());
    g.x = place(b.dy, b.a.x.shape(), O::view(a));
    return g;
  }
};

/// The history of `base` after the region that `view` looks at was written by `node`.
autograd::NodeRef write_through(const Tensor& base, const Tensor& view, autograd::NodeRef node);
/// The history of `view`, taken from that of `base` as it is now.
autograd::NodeRef look_again(const Tensor& base, const Tensor& view);

}  // namespace rille
