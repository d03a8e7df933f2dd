#include <algorithm>
#include <cstring>
#include <set>

#include "core/fail.h"
#include "io/npy.h"
#include "io/utf8.h"
#include "io/zip_format.h"

namespace rille::io {
namespace {

using namespace zip;

constexpr uint64_t kDirectoryLimit = uint64_t{64} << 20;

template <class T>
T get(const unsigned char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
uint16_t get16(const unsigned char* p) { return get<uint16_t>(p); }
uint32_t get32(const unsigned char* p) { return get<uint32_t>(p); }
uint64_t get64(const unsigned char* p) { return get<uint64_t>(p); }

/// Checks a member's CRC-32 on the way. Its size needs no check of its own: the array's header says
/// how many bytes come, and the directory's number has been held against that.
class CheckedStream final : public ByteStream {
 public:
  CheckedStream(std::unique_ptr<ByteStream> inner, uint64_t size, uint32_t crc)
      : inner_(std::move(inner)), size_(size), wanted_(crc) {}

  size_t read(void* dst, size_t bytes) override {
    const size_t n = inner_->read(dst, bytes);
    crc_ = zip_crc(dst, n, crc_);
    position_ += n;
    if (position_ > size_)
      throw format_error("'{}' is longer than the {} bytes that its directory says", label(),
                         size_);
    if (n < bytes && (position_ != size_ || crc_ != wanted_))
      throw format_error("'{}' fails its checksum", label())
          .fact(fmt::format("stored       {:08x}, {} bytes", wanted_, size_))
          .fact(fmt::format("found        {:08x}, {} bytes", crc_, position_));
    return n;
  }
  uint64_t bound() const override { return std::min(inner_->bound(), size_ - position_); }
  const std::string& label() const override { return inner_->label(); }

 private:
  std::unique_ptr<ByteStream> inner_;
  uint64_t size_;
  uint32_t wanted_, crc_ = 0;
};

struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};

/// The end record sits at the end, behind it at most a comment of the length it states.
uint64_t find_end(const InputFile& file, std::vector<unsigned char>& tail) {
  const uint64_t most = kEndSize + kOnes16;
  tail.resize(static_cast<size_t>(std::min(file.size(), most)));
  const uint64_t start = file.size() - tail.size();
  file.read_exact(tail.data(), tail.size(), start);
  if (tail.size() >= kEndSize)
    for (size_t at = tail.size() - kEndSize + 1; at-- > 0;)
      if (get32(&tail[at]) == kEndMark && at + kEndSize + get16(&tail[at + 20]) == tail.size())
        return start + at;
  throw format_error("'{}' is not a zip archive: it has no end record", shown(file.path()));
}

Directory find_directory(const InputFile& file) {
  std::vector<unsigned char> tail;
  uint64_t end = find_end(file, tail);
  const unsigned char* e = &tail[static_cast<size_t>(end - (file.size() - tail.size()))];
  Directory d{get32(e + 16), get32(e + 12), get16(e + 10)};
  bool one_disk = get16(e + 4) == 0 && get16(e + 8) == get16(e + 10);
  if (d.offset == kOnes32 || d.size == kOnes32 || d.count == kOnes16) {
    unsigned char locator[kLocatorSize], big[kEnd64Size];
    if (end >= kLocatorSize) file.read_exact(locator, sizeof locator, end - kLocatorSize);
    if (end < kLocatorSize || get32(locator) != kLocatorMark)
      throw format_error("'{}' byte {}: wanted a zip64 locator", shown(file.path()), end);
    end = get64(locator + 8);
    if (end > file.size() - kEnd64Size)
      throw format_error("'{}': its zip64 record is said to lie at {}", shown(file.path()), end);
    file.read_exact(big, sizeof big, end);
    one_disk =
        get32(big) == kEnd64Mark && get32(big + 16) == 0 && get64(big + 24) == get64(big + 32);
    d = {get64(big + 48), get64(big + 40), get64(big + 32)};
  }
  if (!one_disk) throw format_error("'{}' byte {}: not one whole archive", shown(file.path()), end);
  if (d.size > kDirectoryLimit || d.offset > end || d.size > end - d.offset ||
      d.count > d.size / kCentralSize)
    throw format_error("'{}': {} members in {} bytes at {} cannot be", shown(file.path()), d.count,
                       d.size, d.offset);
  return d;
}

/// Replaces what the 32-bit fields cannot hold, in the order size, packed size, offset.
bool read_extra64(const unsigned char* extra, size_t length, std::vector<uint64_t*> fields) {
  while (length >= 4) {
    const uint16_t id = get16(extra), size = get16(extra + 2);
    if (size > length - 4) return false;
    if (id == kExtra64) {
      if (size < 8 * fields.size()) return false;
      for (size_t i = 0; i < fields.size(); ++i) *fields[i] = get64(extra + 4 + 8 * i);
      return true;
    }
    extra += 4 + size;
    length -= 4u + size;
  }
  return fields.empty();
}

}  // namespace

NpzFile::NpzFile(const std::string& path) : file_(std::make_shared<const InputFile>(path)) {
  const Directory d = find_directory(*file_);
  std::vector<unsigned char> bytes(static_cast<size_t>(d.size));
  file_->read_exact(bytes.data(), bytes.size(), d.offset);
  read_directory(bytes, d.count, d.offset);
}

void NpzFile::read_directory(const std::vector<unsigned char>& directory, uint64_t count,
                             uint64_t start) {
  const std::string path = shown(file_->path());
  std::set<std::string_view> seen;
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const unsigned char* h = directory.data() + at;
    if (directory.size() - at < kCentralSize || get32(h) != kCentralMark)
      throw format_error("'{}' byte {}: wanted a directory entry", path, start + at);
    const size_t name_size = get16(h + 28), extra = get16(h + 30), comment = get16(h + 32);
    if (directory.size() - at - kCentralSize < name_size + extra + comment)
      throw format_error("'{}' byte {}: a directory entry is cut short", path, start + at);
    const std::string_view name(reinterpret_cast<const char*>(h + kCentralSize), name_size);
    Member m{get32(h + 42), get32(h + 20), get32(h + 24), get32(h + 16), get16(h + 10)};
    std::vector<uint64_t*> big;
    for (uint64_t* field : {&m.size, &m.packed, &m.offset})
      if (*field == kOnes32) big.push_back(field);
    const bool known = m.method == kStored || m.method == kDeflated;
    if (!read_extra64(h + kCentralSize + name_size, extra, big) || m.offset > start ||
        m.packed > start - m.offset || (m.method == kStored && m.packed != m.size))
      throw format_error("'{}' member '{}' has impossible sizes", path, shown(name));
    at += kCentralSize + name_size + extra + comment;
    if (!name.ends_with(kSuffix)) continue;
    if (!known || (get16(h + 8) & kEncrypted))
      throw format_error("'{}' member '{}' is packed by method {}", path, shown(name), m.method);
    if (!seen.insert(name).second) throw format_error("'{}' holds '{}' twice", path, shown(name));
    names_.emplace_back(name.substr(0, name.size() - kSuffix.size()));
    members_.push_back(m);
  }
}

NpyReader NpzFile::open(std::string_view name) const {
  const auto it = std::find(names_.begin(), names_.end(), name);
  const std::string label = shown(file_->path()) + ":" + shown(name);
  if (it == names_.end())
    throw arg_error("'{}' has no array '{}'", shown(file_->path()), shown(name));
  const Member& m = members_[static_cast<size_t>(it - names_.begin())];
  unsigned char h[kLocalSize];
  file_->read_exact(h, sizeof h, m.offset);
  const uint64_t data = m.offset + kLocalSize + get16(h + 26) + get16(h + 28);
  if (get32(h) != kLocalMark || get16(h + 8) != m.method || data > file_->size() ||
      m.packed > file_->size() - data)
    throw format_error("'{}' byte {}: wanted the header of a member", label, m.offset);
  const Wrapping wrapping = m.method == kStored ? Wrapping::none : Wrapping::deflate;
  return NpyReader(std::make_unique<CheckedStream>(
      open_stream(file_, data, m.packed, wrapping, label), m.size, m.crc));
}

}  // namespace rille::io
