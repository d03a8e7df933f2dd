// Rows of a table picked by id, one by one or in bags.
#pragma once
#include "ops/op.h"

namespace rille {

struct Embedding {
  struct Args {
    Tensor ids, weight;
    std::optional<int64_t> padding = {};
    std::optional<double> max_norm = {};
    double norm = 2;
    bool scale_by_frequency = false;
  };
  static constexpr std::string_view name = "embedding";
  static constexpr std::string_view doc =
      "The rows of weight that ids name. With max_norm, rows that are looked up and longer are "
      "first "
      "shortened in place.";
  static constexpr std::string_view example =
      "rille.embedding(rille.tensor({0, 2}, { dtype = 'i64' }), rille.ones(3, 4))";
  static constexpr auto fields =
      Fields{field("ids", &Args::ids, "ids from 0, of any shape").saved(),
             field("weight", &Args::weight, "[count, width]"),
             field("padding", &Args::padding, "id whose row takes no gradient"),
             field("max_norm", &Args::max_norm, "longest a row may be"),
             field("norm", &Args::norm, "the p of max_norm"),
             field("scale_by_frequency", &Args::scale_by_frequency,
                   "divide gradients by how often an id occurs")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<Embedding>& b);
  static void samples(SampleList& s);
};

/// dweight[id] = sum of dy over the positions that hold id.
struct EmbeddingGrad {
  struct Args {
    Tensor dy, ids;
    int64_t count = 0;
    int64_t padding = -1;
    bool scale_by_frequency = false;
  };
  static constexpr std::string_view name = "embedding_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradient of embedding.";
  static constexpr auto fields = Fields{
      field("dy", &Args::dy, "gradient of the result"), field("ids", &Args::ids, "ids from 0"),
      field("count", &Args::count, "rows of the table"),
      field("padding", &Args::padding, "id to leave out"),
      field("scale_by_frequency", &Args::scale_by_frequency, "divide by how often an id occurs")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& dweight);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct EmbeddingBag {
  enum class Mode { sum, mean, max };
  struct Args {
    Tensor ids, weight;
    std::optional<Tensor> offsets = {};
    Mode mode = Mode::mean;
    std::optional<Tensor> per_sample_weights = {};
    std::optional<int64_t> padding = {};
    std::optional<double> max_norm = {};
    double norm = 2;
    bool scale_by_frequency = false;
    bool include_last_offset = false;
  };
  static constexpr std::string_view name = "embedding_bag";
  static constexpr std::string_view doc =
      "The sum, mean or largest elements of the rows that each bag of ids names. Bags are the rows "
      "of ids, or begin at offsets of one row; an empty one gives 0.";
  static constexpr std::string_view example =
      "rille.embedding_bag(rille.tensor({{0, 2}}, { dtype = 'i64' }), rille.ones(3, 4))";
  static constexpr auto fields =
      Fields{field("ids", &Args::ids, "ids from 0: [bags, n], or [n] with offsets"),
             field("weight", &Args::weight, "[count, width]"),
             field("offsets", &Args::offsets, "[bags], where each begins, from 0"),
             field("mode", &Args::mode, "what becomes of the rows of a bag"),
             field("per_sample_weights", &Args::per_sample_weights,
                   "like ids: factors of the rows of a sum"),
             field("padding", &Args::padding, "id that no bag counts"),
             field("max_norm", &Args::max_norm, "longest a row may be"),
             field("norm", &Args::norm, "the p of max_norm"),
             field("scale_by_frequency", &Args::scale_by_frequency,
                   "divide gradients by how often an id occurs"),
             field("include_last_offset", &Args::include_last_offset,
                   "the last offset is where the last bag ends")};
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 3> names_of(EmbeddingBag::Mode) {
  return {"sum", "mean", "max"};
}

Tensor embedding(const Tensor& ids, const Tensor& weight);

}  // namespace rille
