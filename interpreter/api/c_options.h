// Options of optimizers and schedules: by name from a table, each read into a field of a struct.
#pragma once
#include <set>

#include "interpreter/api/c_handles.h"
#include "rille/convert.hpp"

namespace rille::capi {

/// What nobody asked for is unknown: ask for all, then refuse_others.
class Options {
 public:
  /// A table, or nil, or null. Throws E_TYPE for what is none.
  explicit Options(const rille_value* from);

  template <class T>
  void operator()(const char* name, T& to) {
    if (const v1::Value& v = asked(name); !v.is_nil()) to = v1::Convert<T>::from(v, {name});
  }
  /// The value under a name, which is known from now on; or nil.
  const v1::Value& asked(const char* name);
  /// Throws E_OPTION.
  void refuse_others() const;

 private:
  v1::Error unknown(const std::string& name) const;

  v1::Value from_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace rille::capi
