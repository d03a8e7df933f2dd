// The sweep over values: every op on numbers at the edges of a dtype and on random bits, in that
// dtype against the same op in f64. The only difference allowed is rounding; it is measured in
// units of the last place (ulps) of the result, and what an op may have of them stands in
// values_bounds.h.
#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ops/op_info.h"

namespace rille::values {

/// How an error is counted.
enum class Judge {
  plain,         // in ulps of the result
  of_size,       // in ulps of the largest argument or result, of a gradient in those of dy
  of_arguments,  // in ulps of the result, or in changes of it by an ulp of each argument
  of_both,       // by whichever of the two is less
  none           // not at all
};

/// From where to where arguments are drawn.
enum class Range {
  whole,
  half,     // squares and products of two have a normal number, too
  quarter,  // and products of four; elements differ by more than an ulp
  apart,    // all of them, but elements differ by more than an ulp
  ordinary  // up to 4
};

/// What an op may be off by, in ulps of its values and of its gradients.
struct Bound {
  double value, gradient;
  Judge value_judge = Judge::plain, gradient_judge = Judge::plain;
  Range range = Range::whole;
};

/// The largest error of one kind, and the arguments that gave it.
struct Worst {
  double ulps = 0;
  std::string where;
};

struct Findings {
  int64_t cases = 0;  // elements of results and of gradients that were compared
  Worst value, gradient;
};

/// Ulps between a value in dtype `d` and what it should be. `slack` is the least size of an ulp.
/// Except in f16, whose range is not that of the arithmetic, 32 of the smallest normal numbers,
/// times `dy` of a gradient, count as nothing: 1 / exp(89) may be 0.
double ulps(DType d, double got, double want, double slack = 0, double dy = 1);

/// The op on `rounds` sets of values for each of its samples. Nothing where it can't be measured:
/// no float arguments, random numbers, a dtype that it refuses.
std::optional<Findings> sweep(const OpInfo& op, DType d, const Bound& bound, int rounds,
                              uint64_t seed);

/// Numbers of a dtype, drawn so that they fit together: edges, bits, one magnitude, one value.
class Draw {
 public:
  Draw(DType d, uint64_t seed, Range range = Range::whole);
  /// One set: what `fill` gives for the tensors of one call.
  void next();
  /// Values for the tensor of that number in the call; `first` is what tensor 0 got.
  std::vector<double> fill(size_t n, size_t number, const std::vector<double>& first);
  /// A gradient for results.
  std::vector<double> seed_gradient(size_t n);
  double moved(double x) const;  // by an ulp, up or down

 private:
  enum class Kind { edges, finite, bits, magnitude, ordinary, equal, close, unit, positive };
  double one();
  double rounded(double x) const;
  bool fits(double x) const;
  double power(int low, int high) const;
  double uniform(double low, double high) const;
  int64_t below(size_t n) const;
  double random_bits() const;

  DType dtype_;
  Range range_;
  int lowest_, highest_, digits_;
  std::vector<double> edges_;
  mutable std::mt19937_64 random_;
  Kind kind_ = Kind::edges;
  double base_ = 1;
  int exponent_ = 0;
};

}  // namespace rille::values
