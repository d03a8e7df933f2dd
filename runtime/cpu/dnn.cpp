#include "cpu/dnn.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/budget.h"
#include "core/context.h"
#include "core/forked.h"

namespace rille::cpu {

namespace {

struct Loaded {
  const DnnFunctions* functions = nullptr;
  std::string state;
};

#if defined(RILLE_ONEDNN) && !defined(RILLE_SERIAL)

constexpr const char* kFile = "librille_onednn.so";

/// The folder of the program or library that this code is part of.
std::string own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&dnn_state), &info) || !info.dli_fname) return ".";
  const std::string_view path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

std::vector<std::string> candidates() {
  if (const char* path = std::getenv("RILLE_ONEDNN_PATH")) return {path};
  const std::string here = own_folder();
  // Beside the program or library, or where an install has it: seen from bin/ or the build's lua/,
  // from lib/, and from lib/lua/5.4/, where the module for a stock Lua lies.
  return {fmt::format("{}/{}", here, kFile), fmt::format("{}/../lib/rille/{}", here, kFile),
          fmt::format("{}/rille/{}", here, kFile), fmt::format("{}/../../rille/{}", here, kFile)};
}

Loaded load() {
  const char* wanted = std::getenv("RILLE_ONEDNN");
  if (wanted && std::string_view(wanted) == "off")
    return {nullptr, "off (RILLE_ONEDNN in the environment)"};
  std::string reason;
  for (const std::string& path : candidates()) {
    // Private, so that another copy of oneDNN in a host keeps its own symbols; never closed,
    // because its threads outlive every call.
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module) {
      if (reason.empty()) reason = dlerror();
      continue;
    }
    using Entry = const DnnFunctions* (*)();
    const Entry entry = reinterpret_cast<Entry>(dlsym(module, kDnnEntry));
    const DnnFunctions* functions = entry ? entry() : nullptr;
    if (functions && functions->layout == kDnnLayout)
      return {functions, fmt::format("oneDNN {} ({})", functions->version, functions->isa)};
    reason = fmt::format("{} is not of this build", path);
  }
  return {nullptr, fmt::format("not found ({})", reason)};
}

#else

Loaded load() { return {nullptr, "not part of this build"}; }

#endif

const Loaded& loaded() {
  static const Loaded& once = *new Loaded(load());  // threads may run while the process ends
  return once;
}

}  // namespace

// Its bits depend on the number of threads, which deterministic mode forbids; and it can't be
// stopped in the middle of a product. It drives the pool by itself.
const DnnFunctions* dnn() {
  const Budget* budget = Budget::current();
  const bool absent =
      Context::current().flags & kDeterministic || (budget && budget->has_deadline());
  return absent || !pool_may_run() ? nullptr : loaded().functions;
}
std::string dnn_state() { return loaded().state; }

}  // namespace rille::cpu
