// Options by name, from a table of the C interface's: what nobody asked for is unknown.
#pragma once
#include <set>

#include "interpreter/api/c_arguments.h"
#include "rille/convert.hpp"

namespace rille::capi {

class Options {
 public:
  /// Throws E_TYPE for what is no table; null and nil are none.
  explicit Options(const rille_value* from);

  /// What is given under that name, else nil.
  const v1::Value& value(const char* name);
  /// The same into `to`, which stays as it is where nothing is given. Throws E_TYPE, E_ARG.
  template <class T>
  void read(const char* name, T& to) {
    if (const v1::Value& v = value(name); !v.is_nil()) to = v1::Convert<T>::from(v, {name});
  }
  /// Throws E_OPTION for names that were not read.
  void refuse_others() const;

 private:
  v1::Value from_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace rille::capi
