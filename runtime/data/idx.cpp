#include "data/idx.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/fail.h"
#include "io/layout.h"
#include "io/stream.h"
#include "io/utf8.h"

namespace rille::data {
namespace {

std::optional<DType> idx_dtype(unsigned code) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0b: return DType::i16;
    case 0x0c: return DType::i32;
    case 0x0d: return DType::f32;
    case 0x0e: return DType::f64;
    default: return std::nullopt;
  }
}

std::unique_ptr<io::ByteStream> open(const std::string& path) {
  auto file = std::make_shared<const io::InputFile>(path);
  unsigned char magic[2] = {};
  const bool gzip = file->read_some(magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  const uint64_t size = file->size();
  return io::open_stream(std::move(file), 0, size, gzip ? io::Wrapping::gzip : io::Wrapping::none,
                         io::shown(path));
}

std::vector<int64_t> read_shape(io::ByteStream& in, unsigned rank) {
  std::vector<int64_t> shape;
  for (unsigned d = 0; d < rank; ++d) {
    unsigned char b[4];
    in.read_exact(b, sizeof b);
    shape.push_back((int64_t{b[0]} << 24) | (int64_t{b[1]} << 16) | (int64_t{b[2]} << 8) | b[3]);
  }
  return shape;
}

/// Reads `wanted` bytes into a buffer that at most doubles at a time: a header that lies about its
/// sizes costs no memory.
std::vector<std::byte> read_growing(io::ByteStream& in, uint64_t wanted) {
  constexpr uint64_t kFirst = uint64_t{1} << 20;
  std::vector<std::byte> bytes;
  while (bytes.size() < wanted) {
    const size_t have = bytes.size();
    bytes.resize(static_cast<size_t>(std::min(wanted, std::max(kFirst, 2 * uint64_t{have}))));
    const uint64_t start = in.position() - have;
    const size_t got = in.read(bytes.data() + have, bytes.size() - have);
    if (got < bytes.size() - have)
      throw format_error("'{}' ends at byte {}, wanted {} bytes of data at {}", in.label(),
                         in.position(), wanted, start);
  }
  return bytes;
}

}  // namespace

IdxArray read_idx(const std::string& path, uint64_t max_bytes) {
  const auto in = open(path);
  unsigned char head[4] = {};
  const size_t got = in->read(head, sizeof head);
  if (got < sizeof head)
    throw format_error("'{}' ends at byte {}, an IDX file has at least 4", in->label(), got);
  if (head[0] != 0 || head[1] != 0)
    throw format_error("'{}' byte 0: not an IDX file, found {:02x}{:02x}, wanted 0000", in->label(),
                       head[0], head[1]);
  const auto dtype = idx_dtype(head[2]);
  if (!dtype)
    throw format_error("'{}' byte 2: element type {:02x}, wanted 08 09 0b 0c 0d or 0e", in->label(),
                       head[2]);
  if (head[3] > io::kMaxRank)
    throw format_error("'{}' byte 3: {} dimensions, at most {}", in->label(), head[3],
                       io::kMaxRank);
  IdxArray array;
  array.dtype = *dtype;
  array.shape = read_shape(*in, head[3]);
  const size_t width = size_of(*dtype);
  const auto bytes = io::dense_bytes(array.shape, static_cast<unsigned>(8 * width));
  if (!bytes || *bytes > max_bytes)
    throw format_error("'{}' byte 4: sizes [{}] make more than {} bytes", in->label(),
                       fmt::join(array.shape, ", "), max_bytes);
  if (*bytes > in->bound())
    throw format_error("'{}' ends before its data do: wanted {} bytes at {}, at most {} follow",
                       in->label(), *bytes, in->position(), in->bound());
  array.bytes = read_growing(*in, *bytes);
  in->expect_end();
  for (size_t at = 0; width > 1 && at < array.bytes.size(); at += width)
    std::reverse(&array.bytes[at], &array.bytes[at] + width);
  return array;
}

}  // namespace rille::data
