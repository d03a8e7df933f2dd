// Convolutions by oneDNN. It chooses the layouts of its operands; plain ones are reordered to them
// and back, which on average still beats its kernels for plain layouts several times.
#include <omp.h>

#include <vector>

#include "cpu/onednn/dnn_memory.h"
#include "cpu/onednn/parts.h"

namespace rille::cpu {

namespace {

using dnnl::memory;

/// An operand as the caller has it and as the primitive wants it.
struct Operand {
  memory::desc plain, inner;
  dnnl::reorder reorder;  // in for arguments, out for results; empty where the two are the same
};

struct Prepared {
  dnnl::primitive primitive;
  Operand first, second, result;
  memory::desc bias, scratch;
  int arg_first = 0, arg_second = 0, arg_result = 0;
};

memory::desc plain_desc(const memory::dims& dims, memory::data_type type) {
  memory::dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) strides[i] = step, step *= dims[i];
  return memory::desc(dims, type, strides);
}

memory::desc any_desc(const memory::dims& dims, memory::data_type type) {
  return memory::desc(dims, type, memory::format_tag::any);
}

/// The sizes of a convolution in oneDNN's terms.
struct Geometry {
  memory::dims x, w, y, stride, dilation, pad_begin, pad_end;
  explicit Geometry(const Conv& c) {
    x = {c.batch, c.in_channels};
    y = {c.batch, c.out_channels};
    if (c.groups > 1) w = {c.groups};
    w.push_back(c.out_channels / c.groups);
    w.push_back(c.in_channels / c.groups);
    for (int d = 0; d < c.dims; ++d) {
      x.push_back(c.in[d]), w.push_back(c.kernel[d]), y.push_back(c.out[d]);
      stride.push_back(c.stride[d]), dilation.push_back(c.dilation[d] - 1);
      pad_begin.push_back(c.pad_begin[d]), pad_end.push_back(c.pad_end[d]);
    }
  }
};

dnnl::primitive_attr with_user_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

using Forward = dnnl::convolution_forward;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

Forward::primitive_desc forward_desc(const Geometry& s, memory::data_type type, bool bias) {
  const auto x = any_desc(s.x, type), w = any_desc(s.w, type), y = any_desc(s.y, type);
  const auto kind = dnnl::prop_kind::forward_training;
  if (bias) {
    const auto b = any_desc({s.y[1]}, type);
    return describe<Forward>(with_user_scratch(), kind, kDirect, x, w, b, y, s.stride, s.dilation,
                             s.pad_begin, s.pad_end);
  }
  return describe<Forward>(with_user_scratch(), kind, kDirect, x, w, y, s.stride, s.dilation,
                           s.pad_begin, s.pad_end);
}

Operand operand(const memory::dims& dims, const memory::desc& inner, bool is_result) {
  Operand o;
  o.inner = inner;
  o.plain = plain_desc(dims, inner.get_data_type());
  if (o.plain == o.inner) return o;
  const auto& engine = dnn_engine();
  o.reorder = is_result ? dnnl::reorder({engine, o.inner, engine, o.plain})
                        : dnnl::reorder({engine, o.plain, engine, o.inner});
  return o;
}

Prepared prepare_forward(const Geometry& s, memory::data_type type, bool bias) {
  const auto pd = forward_desc(s, type, bias);
  Prepared p;
  p.primitive = Forward(pd);
  p.first = operand(s.x, pd.src_desc(), false);
  p.second = operand(s.w, pd.weights_desc(), false);
  p.result = operand(s.y, pd.dst_desc(), true);
  if (bias) p.bias = pd.bias_desc();
  p.scratch = pd.scratchpad_desc();
  p.arg_first = DNNL_ARG_SRC, p.arg_second = DNNL_ARG_WEIGHTS, p.arg_result = DNNL_ARG_DST;
  return p;
}

Prepared prepare_backward_data(const Geometry& s, memory::data_type type) {
  using Backward = dnnl::convolution_backward_data;
  const auto pd = describe_gradient<Backward>(
      with_user_scratch(), forward_desc(s, type, false), kDirect, any_desc(s.x, type),
      any_desc(s.w, type), any_desc(s.y, type), s.stride, s.dilation, s.pad_begin, s.pad_end);
  Prepared p;
  p.primitive = Backward(pd);
  p.first = operand(s.y, pd.diff_dst_desc(), false);
  p.second = operand(s.w, pd.weights_desc(), false);
  p.result = operand(s.x, pd.diff_src_desc(), true);
  p.scratch = pd.scratchpad_desc();
  p.arg_first = DNNL_ARG_DIFF_DST, p.arg_second = DNNL_ARG_WEIGHTS;
  p.arg_result = DNNL_ARG_DIFF_SRC;
  return p;
}

Prepared prepare_backward_weights(const Geometry& s, memory::data_type type) {
  using Backward = dnnl::convolution_backward_weights;
  const auto pd = describe_gradient<Backward>(
      with_user_scratch(), forward_desc(s, type, false), kDirect, any_desc(s.x, type),
      any_desc(s.w, type), any_desc(s.y, type), s.stride, s.dilation, s.pad_begin, s.pad_end);
  Prepared p;
  p.primitive = Backward(pd);
  p.first = operand(s.x, pd.src_desc(), false);
  p.second = operand(s.y, pd.diff_dst_desc(), false);
  p.result = operand(s.w, pd.diff_weights_desc(), true);
  p.scratch = pd.scratchpad_desc();
  p.arg_first = DNNL_ARG_SRC, p.arg_second = DNNL_ARG_DIFF_DST;
  p.arg_result = DNNL_ARG_DIFF_WEIGHTS;
  return p;
}

Prepared prepare(ConvPass pass, DType dtype, const Conv& c, bool bias) {
  const Geometry sizes(c);
  const auto type = dnn_type(dtype);
  switch (pass) {
    case ConvPass::forward: return prepare_forward(sizes, type, bias);
    case ConvPass::backward_data: return prepare_backward_data(sizes, type);
    default: return prepare_backward_weights(sizes, type);
  }
}

std::string key_of(ConvPass pass, DType dtype, const Conv& c, bool bias) {
  std::string key;
  for (int64_t x : {int64_t{static_cast<int>(pass)}, int64_t{static_cast<int>(dtype)},
                    int64_t{bias}, int64_t{omp_get_max_threads()}, int64_t{c.dims}, c.batch,
                    c.in_channels, c.out_channels, c.groups})
    add_to_key(key, x);
  for (int d = 0; d < c.dims; ++d)
    for (int64_t x :
         {c.in[d], c.kernel[d], c.out[d], c.stride[d], c.dilation[d], c.pad_begin[d], c.pad_end[d]})
      add_to_key(key, x);
  return key;
}

void execute(Prepared& p, const void* first, const void* second, void* result, const void* bias) {
  thread_local DnnBuffer buffers[4];
  const dnnl::engine& engine = dnn_engine();
  dnnl::stream& stream = dnn_stream();
  const auto at = [&](const memory::desc& d, const void* data) {
    return memory(d, engine, const_cast<void*>(data));
  };
  const auto inner = [&](Operand& o, const void* data, DnnBuffer& buffer) {
    return at(o.inner, o.reorder ? buffer.at_least(o.inner.get_size()) : data);
  };
  memory a = inner(p.first, first, buffers[0]), b = inner(p.second, second, buffers[1]);
  memory c = inner(p.result, result, buffers[2]);
  const auto bring = [&](Operand& o, const void* data, memory& to) {
    memory plain = at(o.plain, data);
    if (o.reorder) o.reorder.execute(stream, plain, to);
  };
  bring(p.first, first, a);
  bring(p.second, second, b);
  std::unordered_map<int, memory> args = {{p.arg_first, a}, {p.arg_second, b}, {p.arg_result, c}};
  if (bias) args.emplace(DNNL_ARG_BIAS, at(p.bias, bias));
  args.emplace(DNNL_ARG_SCRATCHPAD, at(p.scratch, buffers[3].at_least(p.scratch.get_size())));
  p.primitive.execute(stream, args);
  if (p.result.reorder) {
    memory plain = at(p.result.plain, result);
    p.result.reorder.execute(stream, c, plain);
  }
  stream.wait();
}

}  // namespace

bool onednn_conv(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
                 void* result, const void* bias) {
  thread_local DnnCache<Prepared> cache;
  try {
    Prepared& p = cache.get(key_of(pass, dtype, c, bias != nullptr),
                            [&] { return prepare(pass, dtype, c, bias != nullptr); });
    if (!p.primitive) return false;
    execute(p, first, second, result, bias);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace rille::cpu
