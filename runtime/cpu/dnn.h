// The door to oneDNN, which lives in a module of its own (runtime/cpu/onednn) that is opened at its
// first use and never before: start-up and small programs do not pay for it. Where it is absent, or
// switched off by RILLE_ONEDNN=off in the environment, dnn() is null and the built-in kernels
// serve; in deterministic mode too, since oneDNN's bits may differ between thread counts (never
// between runs with the same count).
#pragma once
#include <string>

#include "cpu/conv.h"
#include "cpu/gemm.h"

namespace rille::cpu {

/// What the module offers. Every function returns true when it has done the work, false when oneDNN
/// refuses the case, with the result untouched.
struct DnnFunctions {
  int layout;           // kDnnLayout, lest a stale module be called
  const char* version;  // "3.2.0"
  const char* isa;      // "avx512_core_amx"
  bool fast_bf16;       // instructions for bf16 products (AMX, AVX512-BF16); else f32 is faster
  /// f32 or bf16; the latter rounds a b before alpha and beta are seen
  bool (*gemm)(DType, const Gemm&, const void* a, const void* b, void* c, const void* bias);
  /// f32 or bf16
  bool (*conv)(ConvPass, DType, const Conv&, const void* first, const void* second, void* result,
               const void* bias);
};
inline constexpr int kDnnLayout = 2;
inline constexpr const char* kDnnEntry = "rille_onednn_functions";

const DnnFunctions* dnn();

/// For `rille info`: "oneDNN 3.2.0 (avx512_core)", or why there is none.
std::string dnn_state();

}  // namespace rille::cpu
