// Pooling over windows of the last 1, 2 or 3 dims. What scripts call works out the windows; the
// hidden ops behind it get every number. Places of maxima are ids into the flattened spatial dims.
#pragma once
#include "ops/op.h"

namespace rille {

// ---- the ops behind
// ------------------------------------------------------------------------------

/// Windows with every number given, one a spatial dim; adaptive ones need only `out`.
struct PoolBase {
  static constexpr bool method = false;
  template <class A>
  static constexpr auto window_fields() {
    return Fields{field("out", &A::out, "spatial sizes of the result").required(),
                  field("kernel", &A::kernel, "of a window"),
                  field("stride", &A::stride, "from window to window"),
                  field("padding", &A::padding, "on both sides"),
                  field("dilation", &A::dilation, "from element to element of a window"),
                  field("adaptive", &A::adaptive, "windows share the input out evenly")};
  }
};

struct MaxPool : PoolBase {
  struct Args {
    Tensor x;
    Sizes out, kernel, stride, padding, dilation;
    bool adaptive = false;
  };
  struct Saved {
    Tensor ids;
  };
  static constexpr std::string_view name = "max_pool";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The largest element of each window.";
  static constexpr auto fields =
      joined(Fields{field("x", &Args::x, "[..., in...]")}, window_fields<Args>());
  static Meta infer(const Args& a);
  static std::array<Meta, 1> saved_meta(const Args& a);
  static void cpu(const Args& a, Tensor& y, Saved* s);
  static Tensor compose(const Args& a);
  static Args grad(const Back<MaxPool>& b);
  static void samples(SampleList& s);
};

struct MaxPoolIds : PoolBase {
  using Args = MaxPool::Args;
  struct Out {
    Tensor values, ids;
  };
  static constexpr std::string_view name = "max_pool_ids";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "The largest element of each window, and where it stands.";
  static constexpr auto fields = MaxPool::fields;
  static constexpr std::array<std::string_view, 2> result_names{"values", "ids"};
  static constexpr bool saves_output = true;
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Args grad(const Back<MaxPoolIds>& b);
  static void samples(SampleList& s);
};

/// Zeros of a spatial size with y added at its ids: the gradient of max pooling.
struct PoolPlace : PoolBase {
  struct Args {
    Tensor y, ids;
    Sizes size;
  };
  static constexpr std::string_view name = "pool_place";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "Zeros with each element of y added in its plane at the id it has.";
  static constexpr auto fields =
      Fields{field("y", &Args::y, "[..., out...]"),
             field("ids", &Args::ids, "ids into the flattened spatial dims").saved(),
             field("size", &Args::size, "spatial sizes of the result").required()};
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& x);
  static Tensor compose(const Args& a);
  static Args grad(const Back<PoolPlace>& b);
  static void samples(SampleList& s);
};

struct AvgPool : PoolBase {
  struct Args {
    Tensor x;
    Sizes out, kernel, stride, padding, dilation;
    bool adaptive = false, count_padding = true;
    int64_t divisor = 0;
  };
  static constexpr std::string_view name = "avg_pool";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The mean of each window.";
  static constexpr auto fields = joined(
      Fields{field("x", &Args::x, "[..., in...]")}, window_fields<Args>(),
      Fields{field("count_padding", &Args::count_padding, "padding counts as zeros"),
             field("divisor", &Args::divisor, "instead of the number of elements, unless 0")});
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<AvgPool>& b);
  static void samples(SampleList& s);
};

struct AvgPoolGrad : PoolBase {
  struct Args {
    Tensor dy;
    Sizes size, out, kernel, stride, padding, dilation;
    bool adaptive = false, count_padding = true;
    int64_t divisor = 0;
  };
  static constexpr std::string_view name = "avg_pool_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "Each element of dy spread over its window.";
  static constexpr auto fields = joined(
      Fields{field("dy", &Args::dy, "[..., out...]"),
             field("size", &Args::size, "spatial sizes of the input").required()},
      window_fields<Args>(),
      Fields{field("count_padding", &Args::count_padding, "padding counts as zeros"),
             field("divisor", &Args::divisor, "instead of the number of elements, unless 0")});
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& dx);
  static Args grad(const Back<AvgPoolGrad>& b);
  static void samples(SampleList& s);
};

// ---- what scripts call
// ---------------------------------------------------------------------------

struct MaxPoolNd {
  struct Args {
    Tensor x;
    PerDim kernel, stride, padding = {0}, dilation = {1};
    bool ceil_mode = false, return_indices = false;
  };
  using Out = std::vector<Tensor>;
  static constexpr auto fields_of(std::string_view x) {
    return Fields{
        field("x", &Args::x, x),
        field("kernel", &Args::kernel, "of a window").required(),
        field("stride", &Args::stride, "from window to window; default: kernel"),
        field("padding", &Args::padding, "on both sides, never chosen; at most half the kernel"),
        field("dilation", &Args::dilation, "from element to element of a window"),
        field("ceil_mode", &Args::ceil_mode, "a last window may hang over the end"),
        field("return_indices", &Args::return_indices, "also the ids of the elements chosen")};
  }
};

struct MaxPool1d : MaxPoolNd {
  static constexpr std::string_view name = "max_pool1d";
  static constexpr std::string_view doc = "The largest element of each window of signals.";
  static constexpr std::string_view example = "rille.max_pool1d(rille.ones(1, 2, 8), 2)";
  static constexpr auto fields = fields_of("[n, c, l] or [c, l]");
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct MaxPool2d : MaxPoolNd {
  static constexpr std::string_view name = "max_pool2d";
  static constexpr std::string_view doc = "The largest element of each window of images.";
  static constexpr std::string_view example = "rille.max_pool2d(rille.ones(1, 2, 8, 8), 2)";
  static constexpr auto fields = fields_of("[n, c, h, w] or [c, h, w]");
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct MaxPool3d : MaxPoolNd {
  static constexpr std::string_view name = "max_pool3d";
  static constexpr std::string_view doc = "The largest element of each window of volumes.";
  static constexpr std::string_view example = "rille.max_pool3d(rille.ones(1, 2, 4, 4, 4), 2)";
  static constexpr auto fields = fields_of("[n, c, d, h, w] or [c, d, h, w]");
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct AvgPoolNd {
  struct Args {
    Tensor x;
    PerDim kernel, stride, padding = {0};
    bool ceil_mode = false, count_include_pad = true;
    std::optional<int64_t> divisor_override = {};
  };
  static constexpr auto fields_of(std::string_view x) {
    return Fields{
        field("x", &Args::x, x),
        field("kernel", &Args::kernel, "of a window").required(),
        field("stride", &Args::stride, "from window to window; default: kernel"),
        field("padding", &Args::padding, "zeros on both sides, at most half the kernel"),
        field("ceil_mode", &Args::ceil_mode, "a last window may hang over the end"),
        field("count_include_pad", &Args::count_include_pad, "zeros around count as elements"),
        field("divisor_override", &Args::divisor_override, "instead of the number of elements")};
  }
};

struct AvgPool1d : AvgPoolNd {
  static constexpr std::string_view name = "avg_pool1d";
  static constexpr std::string_view doc = "The mean of each window of signals.";
  static constexpr std::string_view example = "rille.avg_pool1d(rille.ones(1, 2, 8), 2)";
  static constexpr auto fields = fields_of("[n, c, l] or [c, l]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AvgPool2d : AvgPoolNd {
  static constexpr std::string_view name = "avg_pool2d";
  static constexpr std::string_view doc = "The mean of each window of images.";
  static constexpr std::string_view example = "rille.avg_pool2d(rille.ones(1, 2, 8, 8), 2)";
  static constexpr auto fields = fields_of("[n, c, h, w] or [c, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AvgPool3d : AvgPoolNd {
  static constexpr std::string_view name = "avg_pool3d";
  static constexpr std::string_view doc = "The mean of each window of volumes.";
  static constexpr std::string_view example = "rille.avg_pool3d(rille.ones(1, 2, 4, 4, 4), 2)";
  static constexpr auto fields = fields_of("[n, c, d, h, w] or [c, d, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- results of a given size
// ---------------------------------------------------------------------

struct AdaptiveMaxPoolNd {
  struct Args {
    Tensor x;
    PerDim size;
    bool return_indices = false;
  };
  using Out = std::vector<Tensor>;
  static constexpr auto fields_of(std::string_view x) {
    return Fields{
        field("x", &Args::x, x),
        field("size", &Args::size, "spatial sizes of the result; -1 keeps one").required(),
        field("return_indices", &Args::return_indices, "also the ids of the elements chosen")};
  }
};

struct AdaptiveMaxPool1d : AdaptiveMaxPoolNd {
  static constexpr std::string_view name = "adaptive_max_pool1d";
  static constexpr std::string_view doc =
      "The largest elements of as many windows as the result is long.";
  static constexpr std::string_view example = "rille.adaptive_max_pool1d(rille.ones(1, 2, 8), 3)";
  static constexpr auto fields = fields_of("[n, c, l] or [c, l]");
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct AdaptiveMaxPool2d : AdaptiveMaxPoolNd {
  static constexpr std::string_view name = "adaptive_max_pool2d";
  static constexpr std::string_view doc =
      "The largest elements of as many windows as the result has pixels.";
  static constexpr std::string_view example =
      "rille.adaptive_max_pool2d(rille.ones(1, 2, 8, 8), { 3, 2 })";
  static constexpr auto fields = fields_of("[n, c, h, w] or [c, h, w]");
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct AdaptiveMaxPool3d : AdaptiveMaxPoolNd {
  static constexpr std::string_view name = "adaptive_max_pool3d";
  static constexpr std::string_view doc =
      "The largest elements of as many windows as the result has voxels.";
  static constexpr std::string_view example =
      "rille.adaptive_max_pool3d(rille.ones(1, 2, 4, 4, 4), 2)";
  static constexpr auto fields = fields_of("[n, c, d, h, w] or [c, d, h, w]");
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct AdaptiveAvgPoolNd {
  struct Args {
    Tensor x;
    PerDim size;
  };
  static constexpr auto fields_of(std::string_view x) {
    return Fields{
        field("x", &Args::x, x),
        field("size", &Args::size, "spatial sizes of the result; -1 keeps one").required()};
  }
};

struct AdaptiveAvgPool1d : AdaptiveAvgPoolNd {
  static constexpr std::string_view name = "adaptive_avg_pool1d";
  static constexpr std::string_view doc = "The means of as many windows as the result is long.";
  static constexpr std::string_view example = "rille.adaptive_avg_pool1d(rille.ones(1, 2, 8), 3)";
  static constexpr auto fields = fields_of("[n, c, l] or [c, l]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AdaptiveAvgPool2d : AdaptiveAvgPoolNd {
  static constexpr std::string_view name = "adaptive_avg_pool2d";
  static constexpr std::string_view doc = "The means of as many windows as the result has pixels.";
  static constexpr std::string_view example =
      "rille.adaptive_avg_pool2d(rille.ones(1, 2, 8, 8), 1)";
  static constexpr auto fields = fields_of("[n, c, h, w] or [c, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AdaptiveAvgPool3d : AdaptiveAvgPoolNd {
  static constexpr std::string_view name = "adaptive_avg_pool3d";
  static constexpr std::string_view doc = "The means of as many windows as the result has voxels.";
  static constexpr std::string_view example =
      "rille.adaptive_avg_pool3d(rille.ones(1, 2, 4, 4, 4), 2)";
  static constexpr auto fields = fields_of("[n, c, d, h, w] or [c, d, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- others
// --------------------------------------------------------------------------------------

struct MaxUnpoolNd {
  struct Args {
    Tensor x, ids;
    PerDim kernel, stride, padding = {0};
    std::optional<Sizes> size = {};
  };
  static constexpr auto fields_of(std::string_view x) {
    return Fields{
        field("x", &Args::x, x),
        field("ids", &Args::ids, "as max pooling gave them with return_indices"),
        field("kernel", &Args::kernel, "of a window").required(),
        field("stride", &Args::stride, "from window to window; default: kernel"),
        field("padding", &Args::padding, "on both sides"),
        field("size", &Args::size, "spatial sizes of the result, where several are possible")};
  }
};

struct MaxUnpool1d : MaxUnpoolNd {
  static constexpr std::string_view name = "max_unpool1d";
  static constexpr std::string_view doc =
      "Maxima put back where max_pool1d found them, zeros elsewhere.";
  static constexpr std::string_view example =
      "rille.max_unpool1d(rille.ones(1, 2), rille.tensor({{0, 3}}, { dtype = 'i64' }), 2)";
  static constexpr auto fields = fields_of("[n, c, l] or [c, l]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MaxUnpool2d : MaxUnpoolNd {
  static constexpr std::string_view name = "max_unpool2d";
  static constexpr std::string_view doc =
      "Maxima put back where max_pool2d found them, zeros elsewhere.";
  static constexpr std::string_view example =
      "rille.max_unpool2d(rille.ones(1, 1, 1), rille.tensor({{{3}}}, { dtype = 'i64' }), 2)";
  static constexpr auto fields = fields_of("[n, c, h, w] or [c, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MaxUnpool3d : MaxUnpoolNd {
  static constexpr std::string_view name = "max_unpool3d";
  static constexpr std::string_view doc =
      "Maxima put back where max_pool3d found them, zeros elsewhere.";
  static constexpr std::string_view example =
      "rille.max_unpool3d(rille.ones(1, 1, 1, 1), rille.tensor({{{{7}}}}, { dtype = 'i64' }), 2)";
  static constexpr auto fields = fields_of("[n, c, d, h, w] or [c, d, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct LpPoolNd {
  struct Args {
    Tensor x;
    double p = 2;
    PerDim kernel, stride;
    bool ceil_mode = false;
  };
  static constexpr auto fields_of(std::string_view x) {
    return Fields{field("x", &Args::x, x), field("p", &Args::p, "of the norm").required(),
                  field("kernel", &Args::kernel, "of a window").required(),
                  field("stride", &Args::stride, "from window to window; default: kernel"),
                  field("ceil_mode", &Args::ceil_mode, "a last window may hang over the end")};
  }
  static constexpr Autocast autocast = Autocast::f32;
};

struct LpPool1d : LpPoolNd {
  static constexpr std::string_view name = "lp_pool1d";
  static constexpr std::string_view doc = "(sum of x^p)^(1/p) over each window of signals.";
  static constexpr std::string_view example = "rille.lp_pool1d(rille.ones(1, 2, 8), 2, 2)";
  static constexpr auto fields = fields_of("[n, c, l] or [c, l]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct LpPool2d : LpPoolNd {
  static constexpr std::string_view name = "lp_pool2d";
  static constexpr std::string_view doc = "(sum of x^p)^(1/p) over each window of images.";
  static constexpr std::string_view example = "rille.lp_pool2d(rille.ones(1, 2, 8, 8), 2, 2)";
  static constexpr auto fields = fields_of("[n, c, h, w] or [c, h, w]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
