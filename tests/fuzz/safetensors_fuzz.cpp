// Any bytes as a safetensors file: values or a typed error, and a saved table likewise.
#include <cstring>
#include <memory>

#include "core/error.h"
#include "io/nested.h"
#include "io/safetensors.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rille::test::MemoryFile bytes(data, size);
  try {
    const rille::io::SafetensorsFile file(bytes.path());
    std::vector<std::string> names;
    for (const auto& e : file.entries()) {
      names.push_back(e.name);
      if (e.nbytes > size) std::abort();  // no entry is larger than its file
      const auto out = std::make_unique<char[]>(e.nbytes);
      file.read_raw(e, out.get());
    }
    const auto tree = file.metadata().find(rille::io::kTreeKey);
    if (tree != file.metadata().end()) rille::io::unflatten(tree->second, names);
  } catch (const rille::Error& e) {
    if (e.kind() != rille::Kind::data) std::abort();
  }
  return 0;
}
