// The C interface: loaders, over tensors and over a callback.
#include "interpreter/api/c_options.h"
#include "rille/data.hpp"

struct rille_loader {
  rille::v1::data::Loader loader;
  std::vector<std::string> names;  // of a batch's tensors; those without one have ""
};

namespace rille::capi {
namespace {

using v1::Error, v1::ErrorKind, v1::Value;

namespace data = v1::data;

// What a C callback gives; `userdata` is let go with the last who may call it.
class CallbackDataset : public data::Dataset {
 public:
  CallbackDataset(int64_t size, rille_get_sample call, std::shared_ptr<void> userdata)
      : size_(size), call_(call), userdata_(std::move(userdata)) {}

  int64_t size() const override { return size_; }
  data::Sample get(int64_t index) const override {
    rille_tensors sample;
    rille_error* error = nullptr;
    const rille_status status = call_(userdata_.get(), index, &sample, &error);
    const std::unique_ptr<rille_error> owned(error);
    if (status == RILLE_OK) return tensors_in(&sample);
    if (owned) throw Error(owned->error);
    throw Error(ErrorKind::state, "E_HOST",
                "the host's function failed with status " + std::to_string(status));
  }

 private:
  int64_t size_;
  rille_get_sample call_;
  std::shared_ptr<void> userdata_;
};

data::LoaderOptions options_from(const rille_value* from) {
  data::LoaderOptions o;
  Options read(from);
  if (const Value& batch = read.asked("batch"); batch.boolean() && !*batch.boolean())
    o.batch = 0;
  else
    read("batch", o.batch);
  read("shuffle", o.shuffle);
  read("sampler", o.sampler);
  read("workers", o.workers);
  read("drop_last", o.drop_last);
  read("prefetch", o.prefetch);
  read("persistent", o.persistent);
  read("timeout", o.timeout);
  std::optional<int64_t> seed;
  read("seed", seed);
  if (seed) o.seed = static_cast<uint64_t>(*seed);
  read.refuse_others();
  return o;
}

Value table_of(const data::LoaderState& s) {
  v1::Table t;
  t.named = {{"epoch", s.epoch},
             {"batches", s.batches},
             {"items", s.items},
             {"batch", s.batch},
             {"seed", static_cast<int64_t>(s.seed)},
             {"order_seed", static_cast<int64_t>(s.order_seed)}};
  return t;
}

// A script's state may lack what its order does not depend on.
data::LoaderState state_from(const Value& from, data::LoaderState state) {
  (void)from.as<v1::Table>();
  const auto read = [&](const char* name, auto& to) {
    if (const Value& v = from[name]; !v.is_nil())
      to =
          static_cast<std::remove_reference_t<decltype(to)>>(v1::Convert<int64_t>::from(v, {name}));
  };
  state.epoch = v1::Convert<int64_t>::from(from["epoch"], {"epoch"});
  state.batches = v1::Convert<int64_t>::from(from["batches"], {"batches"});
  read("items", state.items);
  read("batch", state.batch);
  read("seed", state.seed);
  read("order_seed", state.order_seed);
  return state;
}

template <class Handle>
auto& loader_in(Handle* l) {
  return given(l, "the loader").loader;
}

}  // namespace
}  // namespace rille::capi

using namespace rille::capi;

namespace data = rille::v1::data;

rille_status rille_loader_new(const rille_tensors* tensors, const rille_value* options,
                              rille_loader** out, rille_error** error) {
  return guarded(error, [&] {
    rille_loader*& place = given(out, "the place for the loader");
    std::vector<std::string> names;
    for (const auto& [name, t] : list_in(tensors)) names.push_back(name);
    place = new rille_loader{
        data::Loader(data::TensorDataset(tensors_in(tensors)), options_from(options)),
        std::move(names)};
  });
}
rille_status rille_loader_from_callback(int64_t size, rille_get_sample get, void* userdata,
                                        rille_destroy destroy, const rille_value* options,
                                        rille_loader** out, rille_error** error) {
  return guarded(error, [&] {
    std::shared_ptr<void> owned(userdata, [destroy](void* p) {
      if (destroy) destroy(p);
    });
    rille_loader*& place = given(out, "the place for the loader");
    given(get, "the callback");
    auto set = std::make_shared<const CallbackDataset>(size, get, std::move(owned));
    place = new rille_loader{data::Loader(std::move(set), options_from(options)), {}};
  });
}
void rille_loader_delete(rille_loader* l) { delete l; }

int64_t rille_loader_size(const rille_loader* l) { return l ? l->loader.size() : 0; }

rille_status rille_loader_next(rille_loader* l, rille_tensors** out, rille_error** error) {
  return guarded(error, [&] {
    rille_tensors*& place = given(out, "the place for the batch");
    std::optional<data::Batch> batch = loader_in(l).next();
    if (!batch) {
      place = nullptr;
      return;
    }
    auto list = std::make_unique<rille_tensors>();
    for (size_t k = 0; k < batch->size(); ++k)
      list->list.emplace_back(k < l->names.size() ? l->names[k] : "", std::move((*batch)[k]));
    place = list.release();
  });
}

rille_status rille_loader_set_epoch(rille_loader* l, int64_t epoch, rille_error** error) {
  return guarded(error, [&] { loader_in(l).set_epoch(epoch); });
}
rille_status rille_loader_state(const rille_loader* l, rille_value** out, rille_error** error) {
  return give(out, error, [&] { return table_of(loader_in(l).state()); });
}
rille_status rille_loader_load_state(rille_loader* l, const rille_value* state,
                                     rille_error** error) {
  return guarded(error, [&] {
    data::Loader& loader = loader_in(l);
    loader.load_state(state_from(given(state, "the state").value, loader.state()));
  });
}
rille_status rille_loader_close(rille_loader* l, rille_error** error) {
  return guarded(error, [&] { loader_in(l).close(); });
}
