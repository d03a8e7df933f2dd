// The C interface: what the engine says about its ops and layers, as tables.
#include "interpreter/api/c_handles.h"
#include "rille/schema.hpp"

namespace rille::capi {
namespace {

using v1::Table, v1::Value;

Value table_of(const v1::OpSchema& s);
Value table_of(const v1::LayerSchema& s);
Value table_of(const v1::FieldSchema& f) {
  Table t;
  t.named = {{"name", f.name},
             {"doc", f.doc},
             {"kind", f.kind},
             {"required", f.required},
             {"takes_number", f.takes_number},
             {"default_value", f.default_value}};
  return t;
}

template <class T>
Value list_of(const std::vector<T>& all) {
  Table t;
  for (const T& one : all) t.list.push_back(table_of(one));
  return t;
}

Value table_of(const v1::OpSchema& s) {
  Table t, names;
  for (const std::string_view name : s.result_names) names.list.emplace_back(name);
  t.named = {{"name", s.name},
             {"doc", s.doc},
             {"family", s.family},
             {"in_place_name", s.in_place_name},
             {"results", s.results},
             {"result_names", names},
             {"truth", s.truth},
             {"makes_leaf", s.makes_leaf},
             {"fields", list_of(s.fields)}};
  return t;
}

Value table_of(const v1::LayerSchema& s) {
  Table t;
  t.named = {{"name", s.name},
             {"doc", s.doc},
             {"results", s.results},
             {"options", list_of(s.options)},
             {"inputs", list_of(s.inputs)}};
  return t;
}

}  // namespace
}  // namespace rille::capi

using rille::capi::give;

rille_status rille_op_schemas(rille_value** out, rille_error** error) {
  return give(out, error, [] { return rille::capi::list_of(rille::v1::op_schemas()); });
}
rille_status rille_layer_schemas(rille_value** out, rille_error** error) {
  return give(out, error, [] { return rille::capi::list_of(rille::v1::layer_schemas()); });
}
