// Datasets of data.hpp, and how samples become a batch.
#include "core/context.h"
#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "ops/cast.h"
#include "ops/index.h"
#include "ops/shape.h"
#include "rille/data.hpp"

namespace rille::v1::data {

using api::guarded, api::handle_of, api::tensor_of;

Dataset::~Dataset() = default;
std::optional<Batch> Dataset::get_batch(std::span<const int64_t>) const { return {}; }

// ---- tensors
// ---------------------------------------------------------------------------------------

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  guarded("TensorDataset", [&] {
    if (tensors_.empty()) throw arg_error("a dataset needs a tensor or more");
    for (size_t k = 0; k < tensors_.size(); ++k) {
      if (tensors_[k].dim() == 0) throw arg_error("tensor {} has no dims, and so no samples", k);
      if (const int64_t n = tensors_[k].size(0); n != size())
        throw arg_error("tensors differ in samples: tensor 0 has {}, tensor {} has {}", size(), k,
                        n);
    }
  });
}

int64_t TensorDataset::size() const { return tensors_.front().size(0); }

Sample TensorDataset::get(int64_t index) const {
  return guarded("TensorDataset", [&] {
    if (index < 0 || index >= size())
      throw index_error("sample {}, but there are {}", index, size());
    Sample out;
    for (const Tensor& t : tensors_) out.push_back(t[index]);
    return out;
  });
}

std::optional<Batch> TensorDataset::get_batch(std::span<const int64_t> indices) const {
  return guarded("TensorDataset", [&]() -> std::optional<Batch> {
    const auto ids =
        rille::Tensor::empty(rille::Shape{static_cast<int64_t>(indices.size())}, DType::i64);
    std::copy(indices.begin(), indices.end(), ids.data_as<int64_t>());
    Batch out;
    for (const Tensor& handle : tensors_) {
      const rille::Tensor t = tensor_of(handle);
      const rille::Tensor there = rille::to_device(ids, t.device());
      out.push_back(handle_of(call<IndexSelect>({.x = t, .dim = {0}, .index = there})));
    }
    return out;
  });
}

// ---- a function
// ------------------------------------------------------------------------------------

FunctionDataset::FunctionDataset(int64_t size, std::function<Sample(int64_t)> get)
    : size_(size), get_(std::move(get)) {
  guarded("FunctionDataset", [&] {
    if (size_ < 0) throw arg_error("'size' must not be negative, got {}", size_);
    if (!get_) throw type_error("'get' must be a function, got none");
  });
}
int64_t FunctionDataset::size() const { return size_; }
Sample FunctionDataset::get(int64_t index) const { return get_(index); }

// ---- batches
// ---------------------------------------------------------------------------------------

namespace {

// What texts call the sample at place i.
int64_t name_of(size_t i, std::span<const int64_t> indices) {
  return i < indices.size() ? indices[i] : static_cast<int64_t>(i);
}

void check_counts(const std::vector<Sample>& samples, std::span<const int64_t> indices) {
  for (size_t i = 1; i < samples.size(); ++i)
    if (samples[i].size() != samples[0].size())
      throw arg_error("samples {} and {} differ in how many tensors they have: {} and {}",
                      name_of(0, indices), name_of(i, indices), samples[0].size(),
                      samples[i].size())
          .op("collate");
}

rille::Tensor stacked(const std::vector<Sample>& samples, size_t k,
                      std::span<const int64_t> indices) {
  std::vector<rille::Tensor> column;
  for (const Sample& s : samples) column.push_back(tensor_of(s[k]));
  const rille::Shape& wanted = column[0].shape();
  for (size_t i = 1; i < column.size(); ++i)
    if (column[i].shape() != wanted)
      throw fail(Kind::shape, "E_COLLATE_SHAPE", "samples {} and {} differ in shape{}: {} and {}",
                 name_of(0, indices), name_of(i, indices),
                 samples[0].size() > 1 ? fmt::format(" in tensor {}", k) : "",
                 rille::to_string(wanted), rille::to_string(column[i].shape()))
          .op("collate")
          .hint("a collate of one's own can pad them to one size");
  return call<Stack>({.tensors = std::move(column)});
}

}  // namespace

Batch collate(const std::vector<Sample>& samples, std::span<const int64_t> indices) {
  return guarded("collate", [&] {
    if (samples.empty()) throw arg_error("there are no samples to make a batch of");
    check_counts(samples, indices);
    Batch out;
    for (size_t k = 0; k < samples[0].size(); ++k)
      out.push_back(handle_of(stacked(samples, k, indices)));
    return out;
  });
}

}  // namespace rille::v1::data
