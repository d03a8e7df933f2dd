// The C interface: checkpoint blocks.
#include "interpreter/api/c_options.h"
#include "rille/checkpoint.hpp"

using rille::capi::give, rille::capi::given, rille::capi::tensors_in;
using rille::v1::Tensor, rille::v1::Value;

namespace rille::capi {
namespace {

v1::CheckpointOptions options_from(const rille_value* from) {
  v1::CheckpointOptions o;
  Options read(from);
  read("policy", o.policy);
  read("save", o.save);
  read("recompute", o.recompute);
  read("determinism", o.determinism);
  read("preserve_rng", o.preserve_rng);
  read("early_stop", o.early_stop);
  read("allow_mutation", o.allow_mutation);
  read("reentrant", o.reentrant);
  read.refuse_others();
  return o;
}

}  // namespace
}  // namespace rille::capi

rille_status rille_checkpoint(rille_callback block, void* userdata, rille_destroy destroy,
                              const rille_tensors* inputs, const rille_value* options,
                              rille_tensors** out, rille_error** error) {
  const std::unique_ptr<rille_value> f(rille_value_function(block, userdata, destroy, "block"));
  return give(out, error, [&] {
    given(block, "the block");
    if (!f) throw std::bad_alloc();
    const auto run = [f = *f->value.function()](const std::vector<Tensor>& tensors) {
      const std::vector<Value> arguments(tensors.begin(), tensors.end());
      std::vector<Tensor> results;
      for (const Value& v : f.call(arguments)) results.push_back(v.as<Tensor>());
      return results;
    };
    const std::vector<Tensor> results =
        rille::v1::checkpoint(run, tensors_in(inputs), rille::capi::options_from(options));
    rille::v1::StateDict named;
    for (size_t i = 0; i < results.size(); ++i)
      named.emplace_back(std::to_string(i + 1), results[i]);
    return named;
  });
}
