// Schemas of the interface are the engine's records, under a name that says nothing about them.
#pragma once
#include "ops/op_info.h"
#include "rille/arguments.hpp"

namespace rille::api {

inline const v1::detail::Schema& schema_of(const OpInfo& op) {
  return reinterpret_cast<const v1::detail::Schema&>(op);
}
inline const OpInfo& op_of(const v1::detail::Schema& s) {
  return reinterpret_cast<const OpInfo&>(s);
}

}  // namespace rille::api
