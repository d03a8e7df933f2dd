// What the parts of the module share: the engine, a stream, kept primitives and grow-only buffers,
// one set a thread, so that nothing is locked. Only files of this folder include oneDNN.
#pragma once
#include <dnnl.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/dtype.h"

namespace rille::cpu {

inline const dnnl::engine& dnn_engine() {
  // Never destroyed: a host's thread may compute while the process ends.
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

inline dnnl::stream& dnn_stream() {
  thread_local dnnl::stream stream(dnn_engine());
  return stream;
}

inline dnnl::memory::data_type dnn_type(DType d) {
  return d == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Memory that grows and is kept until the thread ends.
class DnnBuffer {
 public:
  void* at_least(size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = (bytes + 4095) / 4096 * 4096;
      memory_.reset(std::aligned_alloc(4096, size_));
      if (!memory_) {
        size_ = 0;
        throw std::bad_alloc();
      }
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  size_t size_ = 0;
};

/// Prepared work by the bytes of its description. Programs use few shapes; one that uses many
/// starts over now and then, which costs it a microsecond a shape (oneDNN keeps the code itself).
/// What oneDNN refuses is kept too, as an empty primitive.
template <class Prepared>
class DnnCache {
 public:
  template <class Make>
  Prepared& get(const std::string& key, Make&& make) {
    if (const auto found = map_.find(key); found != map_.end()) return found->second;
    if (map_.size() >= 256) map_.clear();
    return map_.emplace(key, made(make)).first->second;
  }

 private:
  template <class Make>
  static Prepared made(Make& make) {
    try {
      return make();
    } catch (const dnnl::error& e) {
      if (e.status == dnnl_unimplemented) return {};
      throw;
    }
  }

  std::unordered_map<std::string, Prepared> map_;
};

/// Refuses what would rest on dnnl_sgemm's kernels, for the reason that matmul.cpp gives.
template <class Description>
Description without_gemm(Description d) {
  if (std::strncmp(d.impl_info_str(), "gemm", 4) == 0)
    throw dnnl::error(dnnl_unimplemented, "only by gemm");
  return d;
}

/// A primitive's description. Version 3 takes the arguments that version 2 took through a `desc`.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes,
                                            const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return without_gemm(typename Primitive::primitive_desc(dnn_engine(), args..., attributes));
#else
  return without_gemm(typename Primitive::primitive_desc(typename Primitive::desc(args...),
                                                         attributes, dnn_engine()));
#endif
}

/// The same for gradients, which want the forward pass's description as a hint.
template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc describe_gradient(const dnnl::primitive_attr& attributes,
                                                     const Hint& hint, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return without_gemm(typename Primitive::primitive_desc(dnn_engine(), args..., hint, attributes));
#else
  return without_gemm(typename Primitive::primitive_desc(typename Primitive::desc(args...),
                                                         attributes, dnn_engine(), hint));
#endif
}

inline void add_scale(dnnl::post_ops& after, float factor) {
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0);
#else
  after.append_eltwise(1, dnnl::algorithm::eltwise_linear, factor, 0);
#endif
}

template <class T>
void add_to_key(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace rille::cpu
