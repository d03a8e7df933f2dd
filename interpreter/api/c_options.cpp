#include "interpreter/api/c_options.h"

namespace rille::capi {

using v1::Error, v1::ErrorKind;

Options::Options(const rille_value* from) : from_(from ? from->value : v1::Value()) {
  if (!from_.is_nil()) (void)from_.as<v1::Table>();
}

const v1::Value& Options::asked(const char* name) {
  known_.insert(name);
  return from_[name];
}

void Options::refuse_others() const {
  const v1::Table* t = from_.table();
  if (!t) return;
  if (!t->list.empty())
    throw Error(ErrorKind::argument, "E_OPTION", "options have names, got a list");
  for (const auto& [name, value] : t->named)
    if (!known_.count(name)) throw unknown(name);
}

Error Options::unknown(const std::string& name) const {
  Error e(ErrorKind::argument, "E_OPTION", "unknown option '" + name + "'");
  std::string takes = "takes:";
  for (const std::string& known : known_) takes += " " + known;
  e.facts.push_back(takes);
  return e;
}

}  // namespace rille::capi
