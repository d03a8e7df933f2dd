#include "io/joined_write.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "io/background.h"
#include "io/crc32c.h"

namespace rille::io {
namespace {

// Enough for a disk to work at its rate, and little enough to be summed up in the cache.
constexpr uint64_t kPiece = uint64_t{4} << 20;
// They sleep most of the time; the disk must not, while some of them gather.
constexpr size_t kWriters = 4;

/// What one piece of the file takes from one part.
struct Segment {
  size_t part;
  const char* from;
  size_t bytes;
  uint32_t crc = 0;
};

/// A range of the file that ends at a multiple of kPiece, or with the last part.
struct Piece {
  uint64_t at;
  size_t first, last;  // its segments
};

struct Cut {
  std::vector<Segment> segments;
  std::vector<Piece> pieces;
};

Cut cut(uint64_t start, std::span<const Part> parts) {
  Cut c;
  uint64_t at = start;
  for (size_t i = 0; i < parts.size(); ++i) {
    const char* from = static_cast<const char*>(parts[i].data);
    for (uint64_t left = parts[i].bytes; left > 0;) {
      if (c.pieces.empty() || at % kPiece == 0)
        c.pieces.push_back({at, c.segments.size(), c.segments.size()});
      const auto n = static_cast<size_t>(std::min(left, kPiece - at % kPiece));
      c.segments.push_back({i, from, n});
      c.pieces.back().last = c.segments.size();
      from += n, at += n, left -= n;
    }
  }
  return c;
}

/// Room for a piece that lies in memory as it will lie in the file's blocks; in huge pages, of
/// which a disk takes more at once.
class Room {
 public:
  Room() { (void)::madvise(bytes_.get(), kPiece, MADV_HUGEPAGE); }
  char* at(uint64_t offset) { return bytes_.get() + offset % AtomicFile::kBlock; }

 private:
  static constexpr std::align_val_t kHugePage{size_t{2} << 20};
  struct Free {
    void operator()(char* bytes) const { ::operator delete(bytes, kHugePage); }
  };
  std::unique_ptr<char, Free> bytes_{
      static_cast<char*>(::operator new(kPiece + AtomicFile::kBlock, kHugePage))};
};

/// Copies it, a little at a time, so that the sum finds the bytes in the cache.
uint32_t gather(char* to, const Segment& s, bool sum_up) {
  constexpr size_t kLittle = size_t{1} << 16;
  uint32_t crc = 0;
  for (size_t at = 0; at < s.bytes; at += kLittle) {
    const size_t n = std::min(kLittle, s.bytes - at);
    std::memcpy(to + at, s.from + at, n);
    if (sum_up) crc = crc32c(to + at, n, crc);
  }
  return crc;
}

}  // namespace

std::vector<uint32_t> write_joined(AtomicFile& file, uint64_t start, std::span<const Part> parts,
                                   bool sum_up) {
  Cut c = cut(start, parts);
  std::atomic<size_t> next = 0;
  const auto write_pieces = [&] {
    Room room;
    for (size_t i; (i = next++) < c.pieces.size();) {
      const Piece& p = c.pieces[i];
      char* to = room.at(p.at);
      for (Segment& s : std::span(c.segments).subspan(p.first, p.last - p.first)) {
        s.crc = gather(to, s, sum_up);
        to += s.bytes;
      }
      file.write_at(room.at(p.at), static_cast<size_t>(to - room.at(p.at)), p.at);
    }
  };
  std::array<Background, kWriters - 1> others;
  for (size_t i = 0; i < others.size() && i + 1 < c.pieces.size(); ++i)
    others[i].start(write_pieces);
  write_pieces();
  for (Background& b : others) b.wait();
  std::vector<uint32_t> crcs(parts.size(), 0);
  for (const Segment& s : c.segments) crcs[s.part] = crc32c_join(crcs[s.part], s.crc, s.bytes);
  return crcs;
}

}  // namespace rille::io
