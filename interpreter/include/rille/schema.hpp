// What the engine says about its ops and layers: names, arguments with their kinds and defaults,
// docs. For tools; ops.hpp and layers.hpp are written from it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rille/api.h"

namespace rille::RILLE_V1 {

struct FieldSchema {
  std::string_view name, doc;
  std::string_view kind;      // "tensor", "maybe_tensor", "number", "axis", ...
  bool required = false;      // has no default
  bool takes_number = false;  // a tensor that may be given as a number
  std::string default_value;  // as C++ writes it: "1e-05", "\"mean\"", "{}"
};

struct OpSchema {
  std::string_view name, doc, family;
  std::string_view in_place_name;              // "add_"; empty where there is no such form
  int results = 1;                             // 0: a list, as long as the arguments say
  std::vector<std::string_view> result_names;  // may be empty
  bool truth = false;                          // the result is one true or false
  bool makes_leaf = false;                     // makes tensors from nothing
  std::vector<FieldSchema> fields;
};

struct LayerSchema {
  std::string_view name, doc;
  int results = 1;
  std::vector<FieldSchema> options, inputs;
};

RILLE_API std::vector<OpSchema> op_schemas();
RILLE_API std::vector<LayerSchema> layer_schemas();

}  // namespace rille::RILLE_V1
