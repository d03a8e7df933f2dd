// Layers that look up rows of a trained table by id. Ids count from 0.
#pragma once
#include "nn/layer.h"
#include "ops/embedding.h"

namespace rille::nn {

struct Embedding {
  struct Options {
    int64_t count = 0, width = 0;
    std::optional<int64_t> padding = {};
    std::optional<double> max_norm = {};
    double norm = 2;
    bool scale_by_frequency = false;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "Embedding";
  static constexpr std::string_view doc = "The rows of a table that ids name.";
  static constexpr std::string_view input = "ids";
  static constexpr auto fields = Fields{
      field("count", &Options::count, "rows of the table").required(),
      field("width", &Options::width, "size of a row").required(),
      field("padding", &Options::padding, "id whose row begins as zeros and takes no gradient"),
      field("max_norm", &Options::max_norm, "longest that a row may be when it is looked up"),
      field("norm", &Options::norm, "the p of max_norm"),
      field("scale_by_frequency", &Options::scale_by_frequency,
            "divide gradients by how often an id occurs"),
      field("device", &Options::device, "default: the default device"),
      field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight;  // [count, width]

  explicit Embedding(const Options& o);
  Slots tensors() { return {parameter("weight", weight)}; }
  Tensor forward(const Tensor& ids) const;
};

struct EmbeddingBag {
  struct Options {
    int64_t count = 0, width = 0;
    rille::EmbeddingBag::Mode mode = rille::EmbeddingBag::Mode::mean;
    std::optional<int64_t> padding = {};
    std::optional<double> max_norm = {};
    double norm = 2;
    bool scale_by_frequency = false, include_last_offset = false;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  struct Inputs {
    Tensor ids;
    std::optional<Tensor> offsets = {}, per_sample_weights = {};
  };
  static constexpr std::string_view name = "EmbeddingBag";
  static constexpr std::string_view doc =
      "The sum, mean or largest elements of the rows of a table that each bag of ids names.";
  static constexpr auto fields = Fields{
      field("count", &Options::count, "rows of the table").required(),
      field("width", &Options::width, "size of a row").required(),
      field("mode", &Options::mode, "what becomes of the rows of a bag"),
      field("padding", &Options::padding, "id whose row begins as zeros and that no bag counts"),
      field("max_norm", &Options::max_norm, "longest that a row may be when it is looked up"),
      field("norm", &Options::norm, "the p of max_norm"),
      field("scale_by_frequency", &Options::scale_by_frequency,
            "divide gradients by how often an id occurs"),
      field("include_last_offset", &Options::include_last_offset,
            "the last offset is where the last bag ends"),
      field("device", &Options::device, "default: the default device"),
      field("dtype", &Options::dtype, "default: the default dtype")};
  static constexpr auto input_fields = Fields{
      field("ids", &Inputs::ids, "ids from 0: [bags, n], or [n] with offsets"),
      field("offsets", &Inputs::offsets, "[bags], where each begins, from 0"),
      field("per_sample_weights", &Inputs::per_sample_weights, "like ids: factors in a sum")};

  Options options;
  Tensor weight;  // [count, width]

  explicit EmbeddingBag(const Options& o);
  Slots tensors() { return {parameter("weight", weight)}; }
  Tensor forward(const Inputs& i) const;
};

}  // namespace rille::nn
