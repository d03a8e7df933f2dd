#include <algorithm>
#include <set>

#include "core/fail.h"
#include "io/layout.h"
#include "io/npy.h"
#include "io/utf8.h"
#include "io/zip_format.h"

namespace rille::io {
namespace {

using namespace zip;

template <class... T>
void put(std::string& out, T... values) {
  (out.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
}

struct Written {
  std::string name;
  uint64_t offset, packed, size;
  uint32_t crc;
  uint16_t method;
};

class ZipWriter {
 public:
  ZipWriter(const std::string& path, const NpzOptions& options) : file_(path), options_(options) {}

  void add(const NpzItem& item) {
    const std::string header = npy_header(item.array);
    const auto bytes =
        *dense_bytes(item.array.shape, static_cast<unsigned>(8 * size_of(item.array.dtype)));
    Written w{item.name + std::string(kSuffix), at_, 0, header.size() + bytes, 0, kStored};
    w.crc = zip_crc(item.array.data, bytes, zip_crc(header.data(), header.size()));
    std::vector<std::byte> packed;
    if (options_.compress) {
      constexpr int kLevel = 6;
      packed = deflate_bytes({{header.data(), header.size()}, {item.array.data, bytes}}, kLevel);
      w.method = kDeflated;
    }
    w.packed = options_.compress ? packed.size() : w.size;
    write(local_header(w));
    if (options_.compress) {
      file_.write(packed.data(), packed.size());
    } else {
      file_.write(header);
      file_.write(item.array.data, bytes);
    }
    at_ += w.packed;
    members_.push_back(std::move(w));
  }

  void finish() {
    const uint64_t start = at_;
    for (const Written& w : members_) write(central_header(w));
    const uint64_t size = at_ - start, count = members_.size();
    const bool big = options_.zip64 || start >= kOnes32 || size >= kOnes32 || count >= kOnes16;
    std::string end;
    if (big) {
      put(end, kEnd64Mark, uint64_t{kEnd64Size - 12}, kVersion, kVersion, uint32_t{0}, uint32_t{0},
          count, count, size, start);
      put(end, kLocatorMark, uint32_t{0}, at_, uint32_t{1});
    }
    const auto small = [&](uint64_t v) { return big ? kOnes32 : static_cast<uint32_t>(v); };
    const auto short_count = big ? kOnes16 : static_cast<uint16_t>(count);
    put(end, kEndMark, uint16_t{0}, uint16_t{0}, short_count, short_count, small(size),
        small(start), uint16_t{0});
    write(end);
    file_.commit();
  }

 private:
  // Version 4.5 has the 64-bit records. The time is zip's first day: same arrays, same bytes.
  static constexpr uint16_t kVersion = 45, kNoTime = 0, kFirstDay = (1 << 5) | 1;

  bool is_big(const Written& w) const {
    return options_.zip64 || w.size >= kOnes32 || w.packed >= kOnes32 || w.offset >= kOnes32;
  }
  static uint16_t flags(const Written& w) {
    const bool ascii = std::all_of(w.name.begin(), w.name.end(), [](char c) { return c > 0; });
    return ascii ? 0 : kUtf8Name;
  }

  std::string local_header(const Written& w) const {
    const bool big = is_big(w);
    const auto small = [&](uint64_t v) { return big ? kOnes32 : static_cast<uint32_t>(v); };
    std::string h;
    put(h, kLocalMark, kVersion, flags(w), w.method, kNoTime, kFirstDay, w.crc, small(w.packed),
        small(w.size), static_cast<uint16_t>(w.name.size()), static_cast<uint16_t>(big ? 20 : 0));
    h += w.name;
    if (big) put(h, kExtra64, uint16_t{16}, w.size, w.packed);
    return h;
  }

  std::string central_header(const Written& w) const {
    const bool big = is_big(w);
    const auto small = [&](uint64_t v) { return big ? kOnes32 : static_cast<uint32_t>(v); };
    std::string h;
    put(h, kCentralMark, kVersion, kVersion, flags(w), w.method, kNoTime, kFirstDay, w.crc,
        small(w.packed), small(w.size), static_cast<uint16_t>(w.name.size()),
        static_cast<uint16_t>(big ? 28 : 0), uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0},
        small(w.offset));
    h += w.name;
    if (big) put(h, kExtra64, uint16_t{24}, w.size, w.packed, w.offset);
    return h;
  }

  void write(const std::string& text) {
    file_.write(text);
    at_ += text.size();
  }

  AtomicFile file_;
  NpzOptions options_;
  uint64_t at_ = 0;
  std::vector<Written> members_;
};

}  // namespace

void write_npz(const std::string& path, const std::vector<NpzItem>& items,
               const NpzOptions& options) {
  std::set<std::string_view> seen;
  for (const NpzItem& item : items) {
    constexpr size_t kLongest = 4096;
    if (!is_utf8(item.name) || item.name.size() > kLongest)
      throw arg_error("cannot write '{}': bad array name '{}'", shown(path), shown(item.name, 60));
    if (!seen.insert(item.name).second)
      throw arg_error("cannot write '{}': two arrays are named '{}'", shown(path),
                      shown(item.name));
  }
  ZipWriter zip(path, options);
  for (const NpzItem& item : items) zip.add(item);
  zip.finish();
}

}  // namespace rille::io
