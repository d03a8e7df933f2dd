// The C interface: ops by name, from values.
#include "core/fail.h"
#include "interpreter/api/c_arguments.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/schemas.h"

namespace rille::capi {
namespace {

using v1::detail::Arguments;

const OpInfo* find_in_place(std::string_view name) {
  for (const OpInfo* op : public_ops())
    if (op->in_place && op->in_place_name == name) return op;
  return nullptr;
}

std::vector<v1::Tensor> call_by_name(std::string_view name, std::span<const v1::Value> arguments,
                                     const v1::Value& options, v1::Generator* generator) {
  const OpInfo* op = find_public_op(name);
  const bool in_place = !op && name.ends_with('_');
  if (in_place) op = find_in_place(name);
  if (!op)
    throw v1::Error(v1::ErrorKind::argument, "E_ARG", fmt::format("there is no op '{}'", name),
                    "`rille help` lists them");
  return api::guarded(in_place ? op->in_place_name : op->name, [&] {
    Arguments a(api::schema_of(*op));
    fill(a, *op, arguments, options, generator);
    if (in_place) return std::vector<v1::Tensor>{v1::detail::call_in_place(a)};
    return v1::detail::call_list(a);
  });
}

rille_status run(const char* name, const rille_value* const* arguments, size_t argument_count,
                 const rille_value* options, v1::Generator* generator, rille_tensor** out,
                 size_t capacity, size_t* count, rille_error** error) {
  return guarded(error, [&] {
    give_all(call_by_name(text(name, "the name"), values_of(arguments, argument_count),
                          value_or_nil(options), generator),
             out, capacity, count);
  });
}

}  // namespace
}  // namespace rille::capi

rille_status rille_op(const char* name, const rille_value* const* arguments, size_t argument_count,
                      const rille_value* options, rille_tensor** out, size_t capacity,
                      size_t* count, rille_error** error) {
  return rille::capi::run(name, arguments, argument_count, options, nullptr, out, capacity, count,
                          error);
}
rille_status rille_op_random(const char* name, const rille_value* const* arguments,
                             size_t argument_count, const rille_value* options,
                             rille_generator* generator, rille_tensor** out, size_t capacity,
                             size_t* count, rille_error** error) {
  rille::v1::Generator numbers;
  if (generator) numbers = {generator->seed, generator->next};
  const rille_status status =
      rille::capi::run(name, arguments, argument_count, options, generator ? &numbers : nullptr,
                       out, capacity, count, error);
  if (generator) generator->next = numbers.next;
  return status;
}

void rille_seed(uint64_t seed) { rille::v1::seed(seed); }
