// numpy's files: .npy (versions 1 to 3) and .npz, a zip of them, stored or deflated. Sizes come
// from the header and are held against what the file can hold before anything is allocated; Python
// objects are never read. Written through AtomicFile, so whole or not at all.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "io/stream.h"

namespace rille::io {

struct NpyInfo {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t nbytes = 0;
  bool fortran = false;  // column-major in the file; read() turns it round
  bool swapped = false;  // big endian in the file; read() swaps
};

/// One array, at the point where its data begin. E_FORMAT for a broken file, E_DTYPE for element
/// types that we have not.
class NpyReader {
 public:
  explicit NpyReader(std::unique_ptr<ByteStream> stream);

  const NpyInfo& info() const { return info_; }
  /// Fills dst (info().nbytes) in row-major order and checks that nothing follows. Once only.
  void read(void* dst);

 private:
  std::unique_ptr<ByteStream> stream_;
  NpyInfo info_;
};

NpyReader open_npy(const std::string& path);

/// A dense, row-major array to write.
struct NpyArray {
  DType dtype;
  std::vector<int64_t> shape;
  const void* data;
};

/// Magic, version and dictionary, padded to 64 bytes as numpy does. bf16 is E_DTYPE: numpy has
/// none.
std::string npy_header(const NpyArray& array);
void write_npy(const std::string& path, const NpyArray& array);

class NpzFile {
 public:
  explicit NpzFile(const std::string& path);
  /// Arrays in the archive's order, without ".npy". Members of other kinds are left out.
  const std::vector<std::string>& names() const { return names_; }
  NpyReader open(std::string_view name) const;

 private:
  struct Member {
    uint64_t offset = 0, packed = 0, size = 0;
    uint32_t crc = 0;
    uint16_t method = 0;
  };
  void read_directory(const std::vector<unsigned char>& directory, uint64_t count, uint64_t start);

  std::shared_ptr<const InputFile> file_;
  std::vector<std::string> names_;
  std::vector<Member> members_;
};

struct NpzItem {
  std::string name;
  NpyArray array;
};
struct NpzOptions {
  bool compress = false;
  bool zip64 = false;  // the 64-bit records even where 32 bits would do
};
void write_npz(const std::string& path, const std::vector<NpzItem>& items,
               const NpzOptions& options = {});

}  // namespace rille::io
