// Arguments of ops and layers from values, by position and by name: how rille_op, rille_layer and
// rille_module_forward read what they are given.
#pragma once
#include <span>

#include "interpreter/api/c_handles.h"
#include "rille/arguments.hpp"

namespace rille {
struct OpInfo;
}

namespace rille::capi {

/// Fills `to` from values by position and from a table of options (or nil). `generator` (or null)
/// gives the random numbers. Throws E_OPTION, E_TYPE, E_ARG.
void fill(v1::detail::Arguments& to, const OpInfo& op, std::span<const v1::Value> given,
          const v1::Value& options, v1::Generator* generator = nullptr);

/// The values of a list of handles.
std::vector<v1::Value> values_of(const rille_value* const* list, size_t count);
inline v1::Value value_or_nil(const rille_value* v) { return v ? v->value : v1::Value(); }

/// Gives all results, or none where there is too little room.
void give_all(const std::vector<v1::Tensor>& results, rille_tensor** out, size_t capacity,
              size_t* count);

}  // namespace rille::capi
