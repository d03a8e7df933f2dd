// Checks of every op against what its record promises, on the samples that are part of the op. Used
// by `rille selftest [OP] [--grad]` and by the test suite `ops`: users can run on their machine
// what we ran.
#pragma once

#include "ops/op_info.h"

namespace rille {

struct SelftestOptions {
  bool gradients = true;  // finite differences take most of the time
};

/// One check of one sample, or of the whole op (sample 0).
struct SelftestResult {
  std::string_view op;
  int sample = 0;          // from 1
  std::string_view check;  // one of those below
  bool passed = true;
  std::string message;  // why it did not
};

/// The checks, in order:
///   runs             the sample gives a result
///   compose          kernel and composed definition agree, in f64 and f32
///   gradient         equals finite differences in f64
///   second gradient  so does the gradient's gradient
///   f32 bf16 f16     the result agrees with the one computed in f64
///   meta             shape and dtype are known without values
///   strided          arguments with gaps in memory give the same result
///   in place         op_ gives the same result, and the same gradient
///   threads          result and gradient have the same bits with 1, 2 and 4 threads, in f64 and
///   f32,
///                    in deterministic mode
std::vector<SelftestResult> selftest(const OpInfo& op, const SelftestOptions& options = {});

}  // namespace rille
