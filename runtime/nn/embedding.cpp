#include "nn/embedding.h"

#include "core/fail.h"
#include "nn/init.h"
#include "nn/register.h"
#include "ops/create.h"
#include "ops/embedding.h"
#include "ops/slice.h"

namespace rille::nn {
namespace {

// A row for padding is zero from the start.
template <class Options>
Tensor table_of(const Options& o) {
  check_size(o.count, "count");
  check_size(o.width, "width");
  if (o.padding && (*o.padding < 0 || *o.padding >= o.count))
    throw index_error("'padding' must be an id from 0 to {}, got {}", o.count - 1, *o.padding);
  Tensor weight = normal_parameter({o.count, o.width}, place_of(o));
  const NoGrad quiet;
  if (o.padding && !weight.is_meta()) fill(select(weight, 0, *o.padding), 0);
  return weight;
}

}  // namespace

Embedding::Embedding(const Options& o) : options(o), weight(table_of(o)) {}
Tensor Embedding::forward(const Tensor& ids) const {
  const Options& o = options;
  return call<rille::Embedding>({.ids = ids,
                                 .weight = weight,
                                 .padding = o.padding,
                                 .max_norm = o.max_norm,
                                 .norm = o.norm,
                                 .scale_by_frequency = o.scale_by_frequency});
}

EmbeddingBag::EmbeddingBag(const Options& o) : options(o), weight(table_of(o)) {}
Tensor EmbeddingBag::forward(const Inputs& i) const {
  const Options& o = options;
  return call<rille::EmbeddingBag>({.ids = i.ids,
                                    .weight = weight,
                                    .offsets = i.offsets,
                                    .mode = o.mode,
                                    .per_sample_weights = i.per_sample_weights,
                                    .padding = o.padding,
                                    .max_norm = o.max_norm,
                                    .norm = o.norm,
                                    .scale_by_frequency = o.scale_by_frequency,
                                    .include_last_offset = o.include_last_offset});
}

LayerFamily layers_embedding() { return list_layers<Embedding, EmbeddingBag>(); }

}  // namespace rille::nn
