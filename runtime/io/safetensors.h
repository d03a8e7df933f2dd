// Safetensors files: 8 bytes of header length, a JSON header, the tensors one after another. A
// stranger's file is checked whole before anything is allocated for it, and reading runs no code.
// What we write carries a CRC-32C of every tensor and one of the header (as metadata, so any other
// program reads the file): a flipped bit is E_CKPT_TORN, never a silently different model.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "io/file.h"

namespace rille::io {

using Metadata = std::map<std::string, std::string, std::less<>>;

struct TensorEntry {
  std::string name;
  std::string_view tag;        // the file's word: "F32", "U64", "F8_E4M3"
  std::optional<DType> dtype;  // none: listed and read_raw only
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // of the first byte, from the start of the file
  uint64_t nbytes = 0;
};

struct SafetensorsLimits {
  uint64_t header_bytes = uint64_t{16} << 20;
  size_t entries = size_t{1} << 17;
  size_t name_bytes = 4096;
};

class SafetensorsFile {
 public:
  /// Opens and checks the header: E_IO, E_FORMAT (with the byte) or E_CKPT_TORN.
  explicit SafetensorsFile(const std::string& path, const SafetensorsLimits& limits = {});
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  const std::string& path() const { return file_.path(); }
  uint64_t size() const { return file_.size(); }
  /// In the order of their bytes.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  /// Null where there is none.
  const TensorEntry* find(std::string_view name) const;
  /// Without our checksums.
  const Metadata& metadata() const { return metadata_; }
  /// True where the file holds checksums, so that damage is seen.
  bool checksummed() const { return !checksums_.empty(); }

  /// Fills dst (entry.nbytes bytes) and verifies; E_DTYPE where we have no such format. Booleans
  /// arrive as 0 and 1.
  void read(const TensorEntry& entry, void* dst) const;
  /// The same for many, on all threads.
  struct Target {
    const TensorEntry* entry;
    void* data;
  };
  void read_all(std::span<const Target> targets) const;
  /// The bytes of an entry in place, as long as the pointer lives: pages come from the file when
  /// they are looked at, and become the process's own when they are written. Not verified yet. They
  /// are aligned as the file has them; a file that is cut short later kills the process (SIGBUS).
  std::shared_ptr<std::byte> map(const TensorEntry& entry);
  /// Verifies what map gave, on all threads. E_IO where the file has become shorter.
  void verify_mapped(std::span<const Target> targets) const;
  /// The bytes as they are, for formats that we have not; verified too.
  void read_raw(const TensorEntry& entry, void* dst) const;
  /// The bytes in place, through a private mapping made at the first call and kept as long as this
  /// object. Verified. They need not be aligned, and a file cut short meanwhile kills the process
  /// (SIGBUS): use it on files that nobody rewrites in place.
  const std::byte* view(const TensorEntry& entry);
  /// Verifies every tensor in small pieces; does nothing where there are no checksums.
  void verify() const;

 private:
  class Mapping;
  template <class F>
  void check_pieces(std::span<const Target> targets, F&& sum_of) const;
  void index_names();
  void read_checksums(Metadata& metadata);
  void check(const TensorEntry& entry, uint32_t crc) const;

  InputFile file_;
  std::vector<TensorEntry> entries_;
  std::vector<uint32_t> by_name_;  // positions in entries_, sorted by name
  Metadata metadata_;
  std::vector<uint32_t> checksums_;  // one for each entry, or none at all
  std::shared_ptr<Mapping> mapping_;
};

struct TensorItem {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  const void* data;  // dense, row-major
};

struct SaveOptions {
  bool checksums = true;
  bool lock = true;  // flock on <path>.lock; off for who holds a lock already
  double lock_timeout_s = 30;
};

/// Writes the file whole or not at all; what was there before stays until the new one is durable.
/// Order as the reference writer's: wide formats first, then by name; the header ends at a multiple
/// of 8, so every tensor is aligned. The same content gives the same bytes.
void write_safetensors(const std::string& path, const std::vector<TensorItem>& items,
                       const Metadata& metadata = {}, const SaveOptions& options = {});

}  // namespace rille::io
