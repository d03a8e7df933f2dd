// Any bytes as .npy, .npz and IDX: an array whose size the bytes can justify, or a typed error.
#include <cstring>
#include <memory>

#include "core/error.h"
#include "data/idx.h"
#include "io/npy.h"
#include "memory_file.h"

namespace {

constexpr uint64_t kMost = uint64_t{64} << 20;

template <class F>
void typed(F&& f) {
  try {
    f();
  } catch (const rille::Error& e) {
    if (e.code() != "E_FORMAT" && e.code() != "E_DTYPE") std::abort();
  }
}

void read_all(rille::io::NpyReader reader) {
  if (reader.info().nbytes > kMost) return;
  const auto out = std::make_unique<char[]>(reader.info().nbytes);
  reader.read(out.get());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rille::test::MemoryFile bytes(data, size);
  typed([&] { read_all(rille::io::open_npy(bytes.path())); });
  typed([&] {
    const rille::io::NpzFile file(bytes.path());
    for (const std::string& name : file.names()) typed([&] { read_all(file.open(name)); });
  });
  typed([&] { rille::data::read_idx(bytes.path(), kMost); });
  return 0;
}
