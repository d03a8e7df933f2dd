// Fused scaled dot product attention, o = softmax(q k' * scale + mask) v, forward and backward.
// Scores exist for one block of 64 queries by 64 keys at a time; what backward needs of them is
// recomputed from one saved number a query, the log of the sum of exponentials.
// A query that may look at nothing gets 0 and gives no gradient. Bits do not depend on threads.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "cpu/random.h"

namespace rille::cpu {

/// A tensor [batch, heads, time, width] by its strides in elements; width is contiguous.
struct Heads {
  const void* data;
  int64_t batch, head, time;
};
struct HeadsOut {
  void* data;  // null: not wanted
  int64_t batch, head, time;
};

/// Added to the scores (floats), or true where a query may look (boolean); [batch, heads, queries,
/// keys] by strides in elements, 0 where it is broadcast.
struct Mask {
  DType dtype = DType::f32;
  const void* data = nullptr;
  int64_t batch = 0, head = 0, query = 0, key = 0;
};

struct Attention {
  DType dtype;
  int64_t batch, heads, kv_heads;  // heads = kv_heads * group; head h uses kv head h / group
  int64_t queries, keys;
  int64_t width, value_width;  // of q and k, of v and o
  double scale;
  bool causal = false;  // query i looks at keys 0 .. i
  Mask mask = {};
  double dropout = 0;  // of the probabilities; element (((b * heads + h) * queries + i) * keys + j)
  Draw draw = {0, 0};
};

/// lse[batch, heads, queries], contiguous, accumulator type (double for f64, else float).
void attention(const Attention& args, Heads q, Heads k, Heads v, HeadsOut o, void* lse);

void attention_backward(const Attention& args, Heads q, Heads k, Heads v, Heads o, Heads d_o,
                        const void* lse, HeadsOut dq, HeadsOut dk, HeadsOut dv);

}  // namespace rille::cpu
