// The loader of data.hpp: options, epochs, where it stands. The twin of
// stdlib/rille/data/loader.lua, with the same orders (data/order.h) and the same rules.
#include <numeric>

#include "core/context.h"
#include "core/fail.h"
#include "data/order.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/loader_workers.h"

namespace rille::v1::data {

struct Loading {
  api::LoaderPlan plan;
  LoaderOptions options;
  int64_t items = 0;
  uint64_t order_seed = 0;

  int64_t epoch = 0, done = 0;  // batches that were had
  bool ended = true;            // that epoch is over: the next one comes
  bool under_way = false;
  std::optional<int64_t> chosen;   // which epoch comes
  std::optional<int64_t> resumed;  // `done` batches of this epoch were had when it was loaded

  std::vector<int64_t> order;  // of the epoch under way; empty where samples come as they lie
  int64_t submitted = 0;       // batches that workers have got
  std::unique_ptr<api::LoaderWorkers> workers;

  int64_t length() const;
  int64_t size() const;
  void begin();
  void leave();
  std::optional<Batch> more();

 private:
  api::LoaderJob job(int64_t number) const;
  void keep_busy(int64_t had);
  Batch from_workers();
};

namespace {

using api::guarded;

constexpr int64_t kMostWorkers = 1024, kMostAhead = int64_t{1} << 20;

void exclude(bool one, const char* name, bool other, const char* other_name) {
  if (one && other) throw option_error("'{}' and '{}' exclude each other", name, other_name);
}
void needs_workers(const LoaderOptions& o, bool given, const char* name) {
  if (given && o.workers == 0) throw option_error("'{}' needs workers", name);
}

void check(const LoaderOptions& o, int64_t items) {
  if (o.batch < 0) throw arg_error("'batch' must not be negative, got {}", o.batch);
  if (o.workers < 0 || o.workers > kMostWorkers)
    throw arg_error("'workers' must be between 0 and {}, got {}", kMostWorkers, o.workers);
  if (o.prefetch && (*o.prefetch < 1 || *o.prefetch > kMostAhead))
    throw arg_error("'prefetch' must be between 1 and {}, got {}", kMostAhead, *o.prefetch);
  if (!(o.timeout >= 0)) throw arg_error("'timeout' must not be negative, got {}", o.timeout);
  exclude(o.sampler.has_value(), "sampler", o.shuffle, "shuffle");
  if (o.batch == 0 && o.drop_last) throw option_error("'drop_last' needs batches");
  if (o.batch == 0 && o.collate) throw option_error("'collate' needs batches");
  needs_workers(o, o.prefetch.has_value(), "prefetch");
  needs_workers(o, o.persistent, "persistent");
  if (!o.sampler) return;
  for (const int64_t i : *o.sampler)
    if (i < 0 || i >= items)
      throw index_error("'sampler' names sample {}, but there are {}", i, items);
}

int64_t samples_in(const LoaderOptions& o) { return std::max<int64_t>(o.batch, 1); }

}  // namespace

// ---- an epoch
// --------------------------------------------------------------------------------------

int64_t Loading::length() const {
  return options.sampler ? static_cast<int64_t>(options.sampler->size()) : items;
}

int64_t Loading::size() const {
  const int64_t n = length(), b = samples_in(options);
  return n / b + (n % b != 0 && !options.drop_last ? 1 : 0);
}

void Loading::leave() {
  under_way = false;
  order.clear();
  if (workers) workers->drop();
}

void Loading::begin() {
  leave();
  const int64_t coming = chosen ? *chosen : resumed ? *resumed : epoch + 1;
  if (resumed != coming) done = 0;
  epoch = coming;
  chosen.reset();
  resumed.reset();
  ended = false;
  if (options.shuffle) {
    order.resize(static_cast<size_t>(items));
    std::iota(order.begin(), order.end(), 0);
    rille::data::shuffle(order, static_cast<int64_t>(order_seed), epoch);
  }
  submitted = done;
  under_way = true;
}

api::LoaderJob Loading::job(int64_t number) const {
  const int64_t b = samples_in(options), first = number * b;
  api::LoaderJob out{epoch, std::vector<int64_t>(std::min(b, length() - first))};
  const std::vector<int64_t>& list = options.sampler ? *options.sampler : order;
  for (size_t k = 0; k < out.samples.size(); ++k) {
    const int64_t at = first + static_cast<int64_t>(k);
    out.samples[k] = list.empty() ? at : list[static_cast<size_t>(at)];
  }
  return out;
}

void Loading::keep_busy(int64_t had) {
  const int64_t ahead = options.workers * options.prefetch.value_or(2);
  for (; submitted < size() && submitted - had < ahead; ++submitted)
    workers->submit(job(submitted));
}

Batch Loading::from_workers() {
  if (!workers) workers = std::make_unique<api::LoaderWorkers>(plan, options.workers);
  keep_busy(done);
  if (!workers->wait(options.timeout))
    throw fail(Kind::data, "E_WORKER", "no batch within {} seconds", options.timeout);
  keep_busy(done + 1);  // while this batch is used
  ++done;
  return workers->take();
}

std::optional<Batch> Loading::more() {
  if (!under_way) return {};
  if (done >= size()) {
    leave();
    ended = true;
    if (!options.persistent) workers.reset();
    return {};
  }
  if (options.workers > 0) return from_workers();
  const api::LoaderJob here = job(done++);
  std::optional<int64_t> at;
  return api::fetch(plan, here, at);
}

// ---- Loader
// ----------------------------------------------------------------------------------------

Loader::Loader(std::shared_ptr<const Dataset> set, LoaderOptions options)
    : loading_(std::make_unique<Loading>()) {
  api::guarded_around_host("Loader", [&] {
    if (!set) throw type_error("'set' must be a dataset, got none");
    const int64_t items = set->size();
    if (items < 0) throw arg_error("the dataset's size must not be negative, got {}", items);
    check(options, items);
    Loading& l = *loading_;
    l.items = items;
    l.order_seed = options.seed.value_or(Context::current().generator.seed);
    l.plan = {std::move(set), options.collate, options.batch > 0, l.order_seed};
    l.options = std::move(options);
  });
}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

Loading& Loader::loading() const {
  if (!loading_)
    throw Error(ErrorKind::state, "E_STATE", "the loader was moved to another variable");
  return *loading_;
}

int64_t Loader::size() const { return loading().size(); }

std::optional<Batch> Loader::more(Loading& loading) {
  return api::guarded_around_host("Loader", [&] { return loading.more(); });
}

Loader::Iterator Loader::begin() {
  guarded("Loader", [&] { loading().begin(); });
  return Iterator(loading());
}

std::optional<Batch> Loader::next() {
  Loading& l = loading();
  if (!l.under_way) guarded("Loader", [&] { l.begin(); });
  return more(l);
}

void Loader::set_epoch(int64_t epoch) { loading().chosen = epoch; }

void Loader::close() {
  loading().leave();
  loading().workers.reset();
}

// ---- state
// -----------------------------------------------------------------------------------------

LoaderState Loader::state() const {
  const Loading& l = loading();
  return {.epoch = l.ended ? l.epoch + 1 : l.epoch,
          .batches = l.ended ? 0 : l.done,
          .items = l.items,
          .batch = samples_in(l.options),
          .seed = l.plan.seed,
          .order_seed = l.order_seed};
}

namespace {

void must_equal(const char* name, int64_t given, int64_t own) {
  if (given != own)
    throw fail(Kind::state, "E_STATE", "the state is of a loader with {} = {}, here it is {}", name,
               given, own);
}

}  // namespace

void Loader::load_state(const LoaderState& state) {
  guarded("Loader.load_state", [&] {
    Loading& l = loading();
    must_equal("items", state.items, l.items);
    must_equal("batch", state.batch, samples_in(l.options));
    if (state.batches < 0 || state.batches > l.size())
      throw fail(Kind::state, "E_STATE", "the state is of batch {}, there are {}", state.batches,
                 l.size());
    l.leave();
    if (state.seed != l.plan.seed) l.workers.reset();  // they have the old one
    l.plan.seed = state.seed;
    l.order_seed = state.order_seed;
    l.chosen.reset();
    l.resumed = l.epoch = state.epoch;
    l.done = state.batches;
    l.ended = false;
  });
}

}  // namespace rille::v1::data
