// Images at other sizes and under other coordinates. Resizing is one linear map along each spatial
// dim in turn, given by a table of weights; sampling at coordinates is composed of pointwise ops.
#pragma once
#include "ops/op.h"

namespace rille {

/// Resizing along one dim.
struct Resample {
  enum class Filter { nearest, nearest_exact, linear, cubic };
  struct Args {
    Tensor x;
    Axis dim;
    int64_t size = 0;
    Filter filter = Filter::linear;
    double scale = 0;
    bool align_corners = false, antialias = false;
  };
  static constexpr std::string_view name = "resample";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "x resized along one dim.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"),
             field("dim", &Args::dim, "the dim").required(),
             field("size", &Args::size, "its new size").required(),
             field("filter", &Args::filter, "how values between are made"),
             field("scale", &Args::scale, "new over old size; 0: the sizes' quotient"),
             field("align_corners", &Args::align_corners,
                   "the first and last elements stay where they are"),
             field("antialias", &Args::antialias, "widen the filter when shrinking")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Resample>& b);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 4> names_of(Resample::Filter) {
  return {"nearest", "nearest-exact", "linear", "cubic"};
}

struct ResampleGrad {
  struct Args {
    Tensor dy;
    Axis dim;
    int64_t in = 0;
    Resample::Filter filter = Resample::Filter::linear;
    double scale = 0;
    bool align_corners = false, antialias = false;
  };
  static constexpr std::string_view name = "resample_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The transpose of resample, for an input of that size.";
  static constexpr auto fields =
      Fields{field("dy", &Args::dy, "any float tensor"),
             field("dim", &Args::dim, "the dim").required(),
             field("in", &Args::in, "its size before").required(),
             field("filter", &Args::filter, "how values between are made"),
             field("scale", &Args::scale, "new over old size; 0: the sizes' quotient"),
             field("align_corners", &Args::align_corners,
                   "the first and last elements stay where they are"),
             field("antialias", &Args::antialias, "widen the filter when shrinking")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& dx);
  static Args grad(const Back<ResampleGrad>& b);
  static void samples(SampleList& s);
};

struct Interpolate {
  enum class Mode { nearest, linear, bilinear, bicubic, trilinear, area, nearest_exact };
  struct Args {
    Tensor x;
    PerDim size;
    std::vector<double> scale_factor = {};
    Mode mode = Mode::nearest;
    bool align_corners = false, recompute_scale_factor = false, antialias = false;
  };
  static constexpr std::string_view name = "interpolate";
  static constexpr std::string_view doc =
      "Signals, images or volumes at another size, or by a factor.";
  static constexpr std::string_view example =
      "rille.interpolate(rille.ones(1, 2, 4, 4), { scale_factor = 2, mode = 'bilinear' })";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "[n, c, ...] with 1 to 3 spatial dims"),
      field("size", &Args::size, "spatial sizes of the result"),
      field("scale_factor", &Args::scale_factor, "instead: new over old size, one or one a dim"),
      field("mode", &Args::mode, "how values between are made"),
      field("align_corners", &Args::align_corners,
            "corners stay where they are; else the edges of the corner pixels do"),
      field("recompute_scale_factor", &Args::recompute_scale_factor,
            "the sizes' quotient is used instead of the factor given"),
      field("antialias", &Args::antialias, "widen the filter when shrinking (bilinear, bicubic)")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 7> names_of(Interpolate::Mode) {
  return {"nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"};
}

struct GridSample {
  enum class Mode { bilinear, nearest, bicubic };
  enum class Padding { zeros, border, reflection };
  struct Args {
    Tensor x, grid;
    Mode mode = Mode::bilinear;
    Padding padding_mode = Padding::zeros;
    bool align_corners = false;
  };
  static constexpr std::string_view name = "grid_sample";
  static constexpr std::string_view doc =
      "Values of images or volumes at coordinates: the last dim of grid holds x, y (and z), -1 and "
      "1 being the edges.";
  static constexpr std::string_view example =
      "rille.grid_sample(rille.ones(1, 2, 4, 4), rille.zeros(1, 3, 3, 2))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, c, h, w] or [n, c, d, h, w]"),
             field("grid", &Args::grid, "[n, ho, wo, 2] or [n, do, ho, wo, 3]"),
             field("mode", &Args::mode, "how values between pixels are made"),
             field("padding_mode", &Args::padding_mode, "what lies outside"),
             field("align_corners", &Args::align_corners,
                   "-1 and 1 are the centres of the corner pixels, not their edges")};
  static constexpr Autocast autocast = Autocast::widest;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 3> names_of(GridSample::Mode) {
  return {"bilinear", "nearest", "bicubic"};
}
constexpr std::array<std::string_view, 3> names_of(GridSample::Padding) {
  return {"zeros", "border", "reflection"};
}

struct AffineGrid {
  struct Args {
    Tensor theta;
    Sizes size;
    bool align_corners = false;
  };
  static constexpr std::string_view name = "affine_grid";
  static constexpr std::string_view doc =
      "The coordinates for grid_sample that an affine map gives to each pixel of a result.";
  static constexpr std::string_view example =
      "rille.affine_grid(rille.tensor{{{1, 0, 0}, {0, 1, 0}}}, {1, 1, 2, 2})";
  static constexpr auto fields = Fields{
      field("theta", &Args::theta, "[n, 2, 3], or [n, 3, 4] for volumes"),
      field("size", &Args::size, "of the result: [n, c, h, w] or [n, c, d, h, w]").required(),
      field("align_corners", &Args::align_corners,
            "-1 and 1 are the centres of the corner pixels, not their edges")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
