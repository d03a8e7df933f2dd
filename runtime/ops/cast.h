// Copies: between dtypes, devices and layouts. Everything that writes into existing memory in place
// ends in Copy.
#pragma once
#include "ops/pointwise.h"

namespace rille {

/// x:copy_(source): values, broadcast and converted; a gradient goes to the source.
struct Copy {
  struct Args {
    Tensor x, source;
  };
  static constexpr std::string_view name = "copy";
  static constexpr std::string_view doc =
      "The values of source in the shape and dtype of x; copy_ writes them into x.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "what is replaced"),
             field("source", &Args::source, "broadcasts to the shape of x").number()};
  static constexpr bool in_place = true, strided_out = true, broadcasts = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Copy>& b);
  static void samples(SampleList& s);
};

struct Cast {
  struct Args {
    Tensor x;
    DType dtype = DType::f32;
  };
  static constexpr std::string_view name = "cast";
  static constexpr std::string_view doc =
      "x in another dtype, rounded to nearest even; floats become integers by truncation, "
      "saturated, nan as 0.";
  static constexpr std::string_view example = "rille.cast(rille.tensor{1.5}, 'i32')";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dtype", &Args::dtype, "the dtype wanted").required()};
  static constexpr bool narrow = true;
  static Meta infer(const Args& a) { return like(a.x, a.dtype); }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Cast>& b);
  static void samples(SampleList& s);
};

struct Clone {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "clone";
  static constexpr std::string_view doc = "A copy with memory of its own.";
  static constexpr std::string_view example = "rille.clone(rille.tensor{1, 2})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool narrow = true;
  static Meta infer(const Args& a) { return like(a.x); }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Clone>& b) { return {.x = b.dy}; }
  static void samples(SampleList& s);
};

struct Contiguous {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "contiguous";
  static constexpr std::string_view doc =
      "x itself where its elements lie row by row in memory, else such a copy.";
  static constexpr std::string_view example = "rille.contiguous(rille.zeros(2, 3):t())";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// The row-major copy behind `contiguous`.
struct Compact {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "compact";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "A row-major copy.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a) { return meta_of(a.x.shape(), a.x.dtype(), a.x); }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Compact>& b) { return {.x = b.dy}; }
  static void samples(SampleList& s);
};

/// x on another device; gradients travel back.
struct ToDevice {
  struct Args {
    Tensor x;
    std::optional<Device> device;
  };
  static constexpr std::string_view name = "to_device";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "x on another device.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("device", &Args::device, "the device wanted")};
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<ToDevice>& b);
  static void samples(SampleList& s);
};

/// x in `dtype`; x itself where it has it already.
Tensor cast(const Tensor& x, DType dtype);
/// x in the type that kernels compute in: f32 for floats of 16 bits. What is composed of several
/// ops overflows between them in f16, and is rounded each time.
Tensor widened(const Tensor& x);
Tensor clone(const Tensor& x);
Tensor contiguous(const Tensor& x);
Tensor to_device(const Tensor& x, Device device);
void copy_(const Tensor& x, const Tensor& source);

}  // namespace rille
