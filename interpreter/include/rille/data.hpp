// Data: sets of samples, and loaders that make batches of them, the same that scripts have. The
// same seed gives the same orders as in scripts, and the same batches with any number of workers.
//
//   data::Loader loader(data::TensorDataset({x, y}), {.batch = 32, .shuffle = true});
//   for (int epoch = 1; epoch <= 10; ++epoch)
//     for (const data::Batch& batch : loader) train(batch[0], batch[1]);
#pragma once
#include <concepts>
#include <iterator>

#include "rille/tensor.hpp"

namespace rille::RILLE_V1::data {

/// Tensors in the dataset's own order: an image and its label, say.
using Sample = std::vector<Tensor>;
/// The same of several samples, along a new first dim.
using Batch = std::vector<Tensor>;

/// Samples by position, from 0. Workers call one dataset from several threads at once.
class RILLE_API Dataset {
 public:
  virtual ~Dataset();
  virtual int64_t size() const = 0;
  virtual Sample get(int64_t index) const = 0;
  /// The batch of these samples in one go, for sets that know a faster way to the same values; it
  /// has no random numbers of each sample's own. Nothing: get is called for each.
  virtual std::optional<Batch> get_batch(std::span<const int64_t> indices) const;
};

/// Row i of each tensor.
class RILLE_API TensorDataset : public Dataset {
 public:
  /// Throws E_ARG for tensors whose first dims differ, or that have no dims.
  explicit TensorDataset(std::vector<Tensor> tensors);
  int64_t size() const override;
  /// Throws E_INDEX. The rows are views.
  Sample get(int64_t index) const override;
  std::optional<Batch> get_batch(std::span<const int64_t> indices) const override;

 private:
  std::vector<Tensor> tensors_;
};

/// What a function of the position gives.
class RILLE_API FunctionDataset : public Dataset {
 public:
  FunctionDataset(int64_t size, std::function<Sample(int64_t)> get);
  int64_t size() const override;
  Sample get(int64_t index) const override;

 private:
  int64_t size_;
  std::function<Sample(int64_t)> get_;
};

/// Stacks the tensors of samples: what a loader does where it is not told otherwise. Throws
/// E_COLLATE_SHAPE where shapes differ; `indices` are the samples' names in texts.
RILLE_API Batch collate(const std::vector<Sample>& samples, std::span<const int64_t> indices = {});

struct LoaderOptions {
  int64_t batch = 1;                                 // samples in a batch; 0: samples as they are
  bool shuffle = false;                              // another random order each epoch
  std::optional<std::vector<int64_t>> sampler = {};  // the order, by position
  int64_t workers = 0;                               // threads that make batches ahead
  std::function<Batch(const std::vector<Sample>&)> collate = {};  // makes a batch of samples
  bool drop_last = false;                // a batch that is not full is left out
  std::optional<int64_t> prefetch = {};  // batches that each worker is ahead; 2 if none is given
  bool persistent = false;               // workers stay from one epoch to the next
  double timeout = 0;                    // seconds to wait for a batch; 0: for ever
  std::optional<uint64_t> seed = {};  // of orders and samples; that of rille::seed if none is given
};

/// Where a loader stands, and what its order is made from: the facts that scripts' loaders keep,
/// too.
struct LoaderState {
  int64_t epoch = 1;    // that comes, or is under way
  int64_t batches = 0;  // that were had of it
  int64_t items = 0;    // of the dataset
  int64_t batch = 1;    // samples in a batch
  uint64_t seed = 0;    // of what samples draw
  uint64_t order_seed = 0;

  bool operator==(const LoaderState&) const = default;
};

struct Loading;

/// Batches in order, made on the calling thread or by workers ahead of their use. Random numbers
/// that are drawn in get (rand, dropout) follow from seed, epoch and the sample's position, and the
/// thread's own go on afterwards as if none had been drawn; nothing is recorded for gradients. One
/// thread at a time uses a loader.
///
/// An error in get or collate arrives where the batch is asked for, from a worker as well: with its
/// code, the sample and the worker among its facts. What a worker throws that is no rille::Error
/// arrives as E_WORKER. The batch counts as had.
class RILLE_API Loader {
 public:
  /// Throws E_OPTION for options that exclude each other, E_ARG for values out of range, E_INDEX
  /// for a sampler that names what is not there.
  explicit Loader(std::shared_ptr<const Dataset> set, LoaderOptions options = {});
  template <std::derived_from<Dataset> Set>
  explicit Loader(Set set, LoaderOptions options = {})
      : Loader(std::make_shared<const Set>(std::move(set)), std::move(options)) {}
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  /// Waits for workers that are inside of get.
  ~Loader();

  /// Batches of an epoch.
  int64_t size() const;

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Batch& operator*() const { return *batch_; }
    Batch* operator->() const { return &*batch_; }
    Iterator& operator++() {
      batch_ = more(*loading_);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !batch_; }

   private:
    friend class Loader;
    explicit Iterator(Loading& loading) : loading_(&loading), batch_(more(loading)) {}
    Loading* loading_;
    mutable std::optional<Batch> batch_;
  };

  /// Begins an epoch: the one that was set or loaded, else the next, from 1. A loop that is left
  /// early, and one inside of which another begins, is over.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// The next batch of the epoch under way, or of one that begins; nothing once at its end. Throws
  /// E_WORKER after the timeout; the batch is then still to come.
  std::optional<Batch> next();

  /// Which epoch comes next.
  void set_epoch(int64_t epoch);
  LoaderState state() const;
  /// The batch after it is the one that came next, with any number of workers. Takes the seeds
  /// along. Throws E_STATE for a state of another loader; then nothing has changed.
  void load_state(const LoaderState& state);
  /// Ends the epoch under way and the workers; waits for those inside of get. The next loop starts
  /// them again.
  void close();

 private:
  static std::optional<Batch> more(Loading& loading);
  Loading& loading() const;
  std::unique_ptr<Loading> loading_;
};

}  // namespace rille::RILLE_V1::data
