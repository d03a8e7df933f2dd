#include "io/joined_write.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/threads.h"
#include "io/crc32c.h"

namespace rille::io {
namespace {

// Enough for a disk to work at its rate, and little enough to be summed up in the cache.
constexpr uint64_t kPiece = uint64_t{4} << 20;

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

/// Room for a piece that lies in memory as it will lie in the file's blocks.
class Room {
 public:
  char* at(uint64_t offset) { return bytes_.get() + offset % AtomicFile::kBlock; }

 private:
  struct Free {
    void operator()(char* bytes) const { ::operator delete(bytes, kAlign); }
  };
  static constexpr std::align_val_t kAlign{AtomicFile::kBlock};
  std::unique_ptr<char, Free> bytes_{
      static_cast<char*>(::operator new(kPiece + AtomicFile::kBlock, kAlign))};
};

}  // namespace

std::vector<uint32_t> write_joined(AtomicFile& file, uint64_t start, std::span<const Part> parts,
                                   bool sum_up) {
  Cut c = cut(start, parts);
  parallel_for(static_cast<int64_t>(c.pieces.size()), 1, [&](int64_t begin, int64_t end) {
    Room room;
    for (const Piece& p : std::span(c.pieces).subspan(static_cast<size_t>(begin),
                                                      static_cast<size_t>(end - begin))) {
      char* to = room.at(p.at);
      for (Segment& s : std::span(c.segments).subspan(p.first, p.last - p.first)) {
        std::memcpy(to, s.from, s.bytes);
        if (sum_up) s.crc = crc32c(to, s.bytes);
        to += s.bytes;
      }
      file.write_at(room.at(p.at), static_cast<size_t>(to - room.at(p.at)), p.at);
    }
  });
  std::vector<uint32_t> crcs(parts.size(), 0);
  for (const Segment& s : c.segments) crcs[s.part] = crc32c_join(crcs[s.part], s.crc, s.bytes);
  return crcs;
}

}  // namespace rille::io
