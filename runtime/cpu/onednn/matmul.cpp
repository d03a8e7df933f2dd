// Products by oneDNN: f32 through its BLAS-like call, bf16 through its matmul primitive.
#include <omp.h>

#include <algorithm>

#include "cpu/onednn/dnn_memory.h"
#include "cpu/onednn/parts.h"

namespace rille::cpu {

using dnnl::matmul;
using dnnl::memory;

bool onednn_gemm_f32(const Gemm& g, const float* a, const float* b, float* c, const float* bias) {
  const char ta = g.ta == Transpose::yes ? 'T' : 'N', tb = g.tb == Transpose::yes ? 'T' : 'N';
  const float alpha = static_cast<float>(g.alpha), beta = static_cast<float>(g.beta);
  for (int64_t i = 0; i < g.batch; ++i) {
    const dnnl_status_t status =
        dnnl_sgemm(ta, tb, g.m, g.n, g.k, alpha, a + i * g.stride_a, g.lda, b + i * g.stride_b,
                   g.ldb, beta, c + i * g.stride_c, g.ldc);
    if (status != dnnl_success) return false;
    if (bias) {
      float* rows = c + i * g.stride_c;
#pragma omp parallel for if (g.m * g.n > 65536)
      for (int64_t r = 0; r < g.m; ++r)
        for (int64_t j = 0; j < g.n; ++j) rows[r * g.ldc + j] += bias[j];
    }
  }
  return true;
}

namespace {

struct Prepared {
  matmul primitive;
  memory::desc a, b, c, bias, scratch;
};

Prepared prepare(const Gemm& g, bool with_bias) {
  const auto bf16 = memory::data_type::bf16;
  // A batch stride of 0 is a batch of one, which oneDNN broadcasts.
  const auto desc = [&](int64_t rows, int64_t cols, int64_t ld, int64_t stride, bool turned) {
    const bool shared = stride == 0 && g.batch > 1;
    const memory::dims strides = turned ? memory::dims{stride, 1, ld} : memory::dims{stride, ld, 1};
    memory::dims whole = strides;
    if (shared || g.batch == 1) whole[0] = ld * std::max(rows, cols);
    return memory::desc({shared ? 1 : g.batch, rows, cols}, bf16, whole);
  };
  Prepared p;
  p.a = desc(g.m, g.k, g.lda, g.stride_a, g.ta == Transpose::yes);
  p.b = desc(g.k, g.n, g.ldb, g.stride_b, g.tb == Transpose::yes);
  p.c = desc(g.m, g.n, g.ldc, g.stride_c, false);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (with_bias) p.bias = memory::desc({1, 1, g.n}, bf16, memory::format_tag::abc);
  const auto pd = with_bias ? describe<matmul>(attributes, p.a, p.b, p.bias, p.c)
                            : describe<matmul>(attributes, p.a, p.b, p.c);
  p.scratch = pd.scratchpad_desc();
  p.primitive = matmul(pd);
  return p;
}

}  // namespace

bool onednn_gemm_bf16(const Gemm& g, const void* a, const void* b, void* c, const void* bias) {
  thread_local DnnCache<Prepared> cache;
  thread_local DnnBuffer scratch;
  std::string key;
  for (int64_t x : {g.m, g.n, g.k, g.batch, int64_t{g.ta == Transpose::yes},
                    int64_t{g.tb == Transpose::yes}, g.lda, g.ldb, g.ldc, g.stride_a, g.stride_b,
                    g.stride_c, int64_t{bias != nullptr}, int64_t{omp_get_max_threads()}})
    add_to_key(key, x);
  try {
    Prepared& p = cache.get(key, [&] { return prepare(g, bias != nullptr); });
    const dnnl::engine& engine = dnn_engine();
    const auto at = [&](const memory::desc& d, const void* data) {
      return memory(d, engine, const_cast<void*>(data));
    };
    std::unordered_map<int, memory> args = {
        {DNNL_ARG_SRC, at(p.a, a)}, {DNNL_ARG_WEIGHTS, at(p.b, b)}, {DNNL_ARG_DST, at(p.c, c)}};
    if (bias) args.emplace(DNNL_ARG_BIAS, at(p.bias, bias));
    args.emplace(DNNL_ARG_SCRATCHPAD, at(p.scratch, scratch.at_least(p.scratch.get_size())));
    p.primitive.execute(dnn_stream(), args);
    dnn_stream().wait();
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace rille::cpu
