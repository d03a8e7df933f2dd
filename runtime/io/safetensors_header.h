// The header of a safetensors file, without the file: text to entries with every check, and what
// reader and writer must agree on (tags, names of the checksums). For safetensors*.cpp only.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"

namespace rille::io {

inline constexpr uint64_t kHeaderStart = 8;
inline constexpr std::string_view kMetadataName = "__metadata__";
/// A JSON object: tensor name -> its CRC-32C in hexadecimal.
inline constexpr std::string_view kChecksumsKey = "rille.crc32c";
/// The CRC-32C of entries and metadata (header_crc).
inline constexpr std::string_view kHeaderChecksumKey = "rille.crc32c.header";

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of their bytes, offsets from the file's start
  Metadata metadata;
};

/// E_FORMAT unless entries cover the `data_bytes` behind the header exactly, one after another.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes,
                                           const std::string& path,
                                           const SafetensorsLimits& limits);

/// Of the meaning, not of the text: padding and the order of keys may change, nothing else. The
/// checksum's own key is left out, and so is where the data start, which the text's length decides.
uint32_t header_crc(const std::vector<TensorEntry>& entries, const Metadata& metadata);

/// A tag of the format, with static lifetime; bits 0 where there is no such tag.
struct Tag {
  std::string_view text;
  unsigned bits = 0;
  std::optional<DType> dtype;
};
Tag find_tag(std::string_view text);

}  // namespace rille::io
