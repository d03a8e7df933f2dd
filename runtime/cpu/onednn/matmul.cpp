// Products by oneDNN's matmul primitive. Not by dnnl_sgemm, which keeps the stack pointer in a heap
// block while it works: any signal that comes then is handled on top of that heap.
#include <omp.h>

#include <algorithm>

#include "cpu/onednn/dnn_memory.h"
#include "cpu/onednn/parts.h"

namespace rille::cpu {

using dnnl::matmul;
using dnnl::memory;

namespace {

struct Prepared {
  matmul primitive;
  memory::desc a, b, c, bias, scratch;
};

// c = alpha * (a b + bias) + beta * c, so that a bias wants alpha 1.
dnnl::primitive_attr scaled(const Gemm& g) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (g.alpha != 1) add_scale(after, static_cast<float>(g.alpha));
  if (g.beta != 0) after.append_sum(static_cast<float>(g.beta));
  attributes.set_post_ops(after);
  return attributes;
}

Prepared prepare(DType dtype, const Gemm& g, bool with_bias) {
  const auto type = dnn_type(dtype);
  // A batch stride of 0 is a batch of one, which oneDNN broadcasts. Its kernels take a lone matrix
  // only with the batch stride that a whole batch would have.
  const auto desc = [&](int64_t rows, int64_t cols, int64_t ld, int64_t stride, bool turned) {
    const bool shared = stride == 0 && g.batch > 1;
    const memory::dims strides = turned ? memory::dims{stride, 1, ld} : memory::dims{stride, ld, 1};
    memory::dims whole = strides;
    if (shared || g.batch == 1) whole[0] = ld * (turned ? cols : rows);
    return memory::desc({shared ? 1 : g.batch, rows, cols}, type, whole);
  };
  Prepared p;
  p.a = desc(g.m, g.k, g.lda, g.stride_a, g.ta == Transpose::yes);
  p.b = desc(g.k, g.n, g.ldb, g.stride_b, g.tb == Transpose::yes);
  p.c = desc(g.m, g.n, g.ldc, g.stride_c, false);
  const dnnl::primitive_attr attributes = scaled(g);
  if (with_bias) p.bias = memory::desc({1, 1, g.n}, type, memory::format_tag::abc);
  const auto pd = with_bias ? describe<matmul>(attributes, p.a, p.b, p.bias, p.c)
                            : describe<matmul>(attributes, p.a, p.b, p.c);
  p.scratch = pd.scratchpad_desc();
  p.primitive = matmul(pd);
  return p;
}

}  // namespace

bool onednn_gemm(DType dtype, const Gemm& g, const void* a, const void* b, void* c,
                 const void* bias) {
  if (bias && g.alpha != 1) return false;
  thread_local DnnCache<Prepared> cache;
  thread_local DnnBuffer scratch;
  std::string key;
  for (double x : {g.alpha, g.beta}) add_to_key(key, x);
  for (int64_t x :
       {int64_t{static_cast<int>(dtype)}, g.m, g.n, g.k, g.batch, int64_t{g.ta == Transpose::yes},
        int64_t{g.tb == Transpose::yes}, g.lda, g.ldb, g.ldc, g.stride_a, g.stride_b, g.stride_c,
        int64_t{bias != nullptr}, int64_t{omp_get_max_threads()}})
    add_to_key(key, x);
  try {
    Prepared& p = cache.get(key, [&] { return prepare(dtype, g, bias != nullptr); });
    if (!p.primitive) return false;
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
