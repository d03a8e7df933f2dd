// The module's one exported symbol.
#include <dnnl.hpp>

#include <string>

#include "core/macros.h"
#include "cpu/onednn/parts.h"

namespace rille::cpu {

namespace {

bool has_tiles() { return dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core_amx; }

bool has_pairs() { return dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core_bf16; }

// Version 2 gets some bf16 products wrong where there are tiles, so there it is not used.
bool fast_bf16() { return has_pairs() && dnnl_version()->major >= 3; }

const char* isa_name() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41: return "sse4.1";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx512_core: return "avx512";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512 vnni";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512 bf16";
    default: return has_tiles() ? "amx" : "generic";
  }
}

}  // namespace

extern "C" RILLE_API const DnnFunctions* rille_onednn_functions() {
  static const std::string& version = *new std::string([] {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
  }());
  static const DnnFunctions functions{kDnnLayout,  version.c_str(), isa_name(),
                                      fast_bf16(), onednn_gemm,     onednn_conv};
  return &functions;
}

}  // namespace rille::cpu
