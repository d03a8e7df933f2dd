// Bytes one after another, from a part of a file, plain or compressed. Compressed data grow only as
// far as the reader asks, so a small file cannot fill the memory: readers know from a header how
// much must come, and ask for one byte more to see that nothing does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/file.h"

namespace rille::io {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Up to `bytes` bytes; less only at the end.
  virtual size_t read(void* dst, size_t bytes) = 0;
  /// Bytes that may still come at most; exact for plain data.
  virtual uint64_t bound() const = 0;
  /// For messages: path, and the member within it.
  virtual const std::string& label() const = 0;

  /// All of `bytes`, or E_FORMAT.
  void read_exact(void* dst, size_t bytes);
  /// E_FORMAT unless the stream has ended; a compressed stream verifies its own checksum here.
  void expect_end();
  /// Bytes delivered so far.
  uint64_t position() const { return position_; }

 protected:
  uint64_t position_ = 0;
};

enum class Wrapping : uint8_t { none, gzip, deflate };

/// The `length` bytes of the file from `offset`, unwrapped.
std::unique_ptr<ByteStream> open_stream(std::shared_ptr<const InputFile> file, uint64_t offset,
                                        uint64_t length, Wrapping wrapping, std::string label);

/// The bytes as one deflate stream without header or checksum, as zip members have it.
std::vector<std::byte> deflate_bytes(const std::vector<std::pair<const void*, size_t>>& parts,
                                     int level);

/// CRC-32 as zip and gzip use it.
uint32_t zip_crc(const void* data, size_t bytes, uint32_t before = 0);

}  // namespace rille::io
