// Tensors from nothing: constants and ranges. Random ones are in ops/random.h.
#pragma once
#include "ops/op.h"

namespace rille {

/// What is made of nothing but a shape.
struct Made {
  struct Args {
    Sizes shape;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr auto fields =
      Fields{field("shape", &Args::shape, "sizes"),
             field("dtype", &Args::dtype, "default: the default dtype"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
};

struct Zeros : Made {
  static constexpr std::string_view name = "zeros";
  static constexpr std::string_view doc = "A tensor of that shape, every element 0.";
  static constexpr std::string_view example = "rille.zeros(2, 3)";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Ones : Made {
  static constexpr std::string_view name = "ones";
  static constexpr std::string_view doc = "A tensor of that shape, every element 1.";
  static constexpr std::string_view example = "rille.ones(2, 3, { dtype = 'i64' })";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Empty : Made {
  static constexpr std::string_view name = "empty";
  static constexpr std::string_view doc =
      "A tensor of that shape with whatever its memory held before.";
  static constexpr std::string_view example = "rille.empty(2, 3):fill_(1)";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Full {
  struct Args {
    Sizes shape;
    double value = 0;
    std::optional<DType> dtype;
    std::optional<Device> device;
  };
  static constexpr std::string_view name = "full";
  static constexpr std::string_view doc = "A tensor of that shape, every element the same value.";
  static constexpr std::string_view example = "rille.full({2, 3}, 7)";
  static constexpr auto fields =
      Fields{field("shape", &Args::shape, "sizes").required(),
             field("value", &Args::value, "of every element").required(),
             field("dtype", &Args::dtype, "default: the default dtype"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

// ---- in the image of another -------------------------------------------------------------------

struct MadeLike {
  struct Args {
    Tensor x;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr auto fields = Fields{field("x", &Args::x, "gives shape, dtype and device"),
                                        field("dtype", &Args::dtype, "default: that of x"),
                                        field("device", &Args::device, "default: that of x")};
  static constexpr bool differentiable = false, narrow = true;
};

struct ZerosLike : MadeLike {
  static constexpr std::string_view name = "zeros_like";
  static constexpr std::string_view doc = "Zeros in the shape of x.";
  static constexpr std::string_view example = "rille.zeros_like(rille.ones(2))";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct OnesLike : MadeLike {
  static constexpr std::string_view name = "ones_like";
  static constexpr std::string_view doc = "Ones in the shape of x.";
  static constexpr std::string_view example = "rille.ones_like(rille.zeros(2))";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct FullLike {
  struct Args {
    Tensor x;
    double value = 0;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "full_like";
  static constexpr std::string_view doc =
      "A tensor in the shape of x, every element the same value.";
  static constexpr std::string_view example = "rille.full_like(rille.zeros(2), 7)";
  static constexpr auto fields = Fields{field("x", &Args::x, "gives shape, dtype and device"),
                                        field("value", &Args::value, "of every element").required(),
                                        field("dtype", &Args::dtype, "default: that of x"),
                                        field("device", &Args::device, "default: that of x")};
  static constexpr bool differentiable = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct EmptyLike : MadeLike {
  static constexpr std::string_view name = "empty_like";
  static constexpr std::string_view doc =
      "A tensor in the shape of x with whatever its memory held before.";
  static constexpr std::string_view example = "rille.empty_like(rille.ones(2)):fill_(3)";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Fill {
  struct Args {
    Tensor x, value;
  };
  static constexpr std::string_view name = "fill";
  static constexpr std::string_view doc = "x with every element the same value; fill_ writes it.";
  static constexpr std::string_view example = "rille.ones(2):fill(5)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("value", &Args::value, "a number or a tensor of one element").number()};
  static constexpr bool in_place = true, strided_out = true, broadcasts = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Fill>& b);
  static void samples(SampleList& s);
};

struct Zero {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "zero";
  static constexpr std::string_view doc = "Zeros in the place of x; zero_ writes them.";
  static constexpr std::string_view example = "rille.ones(2):zero()";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool in_place = true, strided_out = true, narrow = true;
  static Meta infer(const Args& a) { return like(a.x); }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Zero>& b);
  static void samples(SampleList& s);
};

// ---- ranges ------------------------------------------------------------------------------------

struct Arange {
  struct Args {
    Tensor first, last;
    std::optional<Tensor> step = {};
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "arange";
  static constexpr std::string_view doc =
      "The numbers from first to last, both included, step apart, as Lua's for counts. Integers "
      "give i64.";
  static constexpr std::string_view example = "rille.arange(1, 10, 3)";
  static constexpr auto fields =
      Fields{field("first", &Args::first, "the first number").number(),
             field("last", &Args::last, "not passed").number(),
             field("step", &Args::step, "default: 1").number(),
             field("dtype", &Args::dtype, "default: i64 or the default dtype"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false, differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Linspace {
  struct Args {
    double first = 0, last = 0;
    int64_t count = 0;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "linspace";
  static constexpr std::string_view doc =
      "Evenly spaced numbers from first to last, both included.";
  static constexpr std::string_view example = "rille.linspace(0, 1, 5)";
  static constexpr auto fields =
      Fields{field("first", &Args::first, "the first number").required(),
             field("last", &Args::last, "the last one").required(),
             field("count", &Args::count, "how many").required(),
             field("dtype", &Args::dtype, "default: the default dtype"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Logspace {
  struct Args {
    double first = 0, last = 0;
    int64_t count = 0;
    double base = 10;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "logspace";
  static constexpr std::string_view doc =
      "Powers of a base with evenly spaced exponents from first to last.";
  static constexpr std::string_view example = "rille.logspace(0, 2, 3)";
  static constexpr auto fields =
      Fields{field("first", &Args::first, "the first exponent").required(),
             field("last", &Args::last, "the last one").required(),
             field("count", &Args::count, "how many").required(),
             field("base", &Args::base, "of the powers"),
             field("dtype", &Args::dtype, "default: the default dtype"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Eye {
  struct Args {
    int64_t n = 0;
    std::optional<int64_t> m = {};
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "eye";
  static constexpr std::string_view doc = "A matrix with ones on its diagonal.";
  static constexpr std::string_view example = "rille.eye(2, 3)";
  static constexpr auto fields =
      Fields{field("n", &Args::n, "rows").required(), field("m", &Args::m, "columns; default: n"),
             field("dtype", &Args::dtype, "default: the default dtype"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct TrilIndices {
  struct Args {
    int64_t rows = 0, cols = 0, offset = 0;
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "tril_indices";
  static constexpr std::string_view doc =
      "Ids, counted from 0, of the lower triangle: one row of row ids, one of column ids.";
  static constexpr std::string_view example = "rille.tril_indices(2, 2)";
  static constexpr auto fields =
      Fields{field("rows", &Args::rows, "of the matrix").required(),
             field("cols", &Args::cols, "of the matrix").required(),
             field("offset", &Args::offset, "last diagonal"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct TriuIndices {
  struct Args {
    int64_t rows = 0, cols = 0, offset = 0;
    std::optional<Device> device = {};
  };
  static constexpr std::string_view name = "triu_indices";
  static constexpr std::string_view doc =
      "Ids, counted from 0, of the upper triangle: one row of row ids, one of column ids.";
  static constexpr std::string_view example = "rille.triu_indices(2, 2)";
  static constexpr auto fields =
      Fields{field("rows", &Args::rows, "of the matrix").required(),
             field("cols", &Args::cols, "of the matrix").required(),
             field("offset", &Args::offset, "first diagonal"),
             field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

/// Fills `t` in place with a value, outside of every graph.
void fill(const Tensor& t, double value);
Tensor full(const Shape& shape, double value, DType dtype, Device device = {});
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);

}  // namespace rille
