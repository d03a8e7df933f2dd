// The C interface: x[...] on both sides of an assignment, its entries from values.
#include "interpreter/api/c_handles.h"

using rille::capi::give, rille::capi::given, rille::capi::guarded, rille::capi::tensor_in;
using rille::v1::Convert, rille::v1::Index, rille::v1::Operand, rille::v1::Slice, rille::v1::Table,
    rille::v1::Tensor, rille::v1::Value, rille::v1::detail::Place;

namespace {

using Bound = std::optional<int64_t>;

Slice slice_of(const Value& v, const Place& at) {
  if (!v.table()->list.empty()) throw_wrong(v, "a table of named fields", at);
  for (const auto& [key, bound] : v.table()->named)
    if (key != "start" && key != "stop" && key != "step")
      throw_wrong(v, "a table of start, stop and step", at);
  Slice s;
  s.start = Convert<Bound>::from(v["start"], {"start", 0, &at});
  s.stop = Convert<Bound>::from(v["stop"], {"stop", 0, &at});
  s.step = Convert<Bound>::from(v["step"], {"step", 0, &at}).value_or(1);
  return s;
}

Index entry_of(const Value& v, const Place& at) {
  if (v.tensor()) return *v.tensor();
  if (v.table()) return slice_of(v, at);
  return Convert<int64_t>::from(v, at);
}

std::vector<Index> entries_of(const rille_value* at) {
  const Value& list = given(at, "the index").value;
  const Place place{"index"};
  if (!list.table() || !list.table()->named.empty()) throw_wrong(list, "a list", place);
  std::vector<Index> out;
  for (const Value& v : list.table()->list)
    out.push_back(entry_of(v, {"position", out.size() + 1, &place}));
  return out;
}

Operand operand_of(const rille_value* value) {
  const Value& v = given(value, "the value").value;
  if (v.boolean()) return *v.boolean();
  if (v.integer()) return *v.integer();
  if (v.number()) return *v.number();
  return Convert<Tensor>::from(v, {"value"});
}

}  // namespace

rille_status rille_tensor_index(const rille_tensor* t, const rille_value* at, rille_tensor** out,
                                rille_error** error) {
  return give(out, error, [&] { return tensor_in(t).index(entries_of(at)); });
}
rille_status rille_tensor_index_put(rille_tensor* t, const rille_value* at,
                                    const rille_value* value, rille_error** error) {
  return guarded(error, [&] { tensor_in(t).index_put_(entries_of(at), operand_of(value)); });
}
