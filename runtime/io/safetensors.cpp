#include "io/safetensors.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <numeric>

#include "core/fail.h"
#include "core/threads.h"
#include "io/crc32c.h"
#include "io/json.h"
#include "io/safetensors_header.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

constexpr size_t kPiece = size_t{4} << 20;
constexpr uint64_t kShare = uint64_t{1} << 20;  // of a tensor that a thread takes at a time

template <class... A>
Error torn(fmt::format_string<A...> text, A&&... args) {
  return fail(Kind::data, "E_CKPT_TORN", text, std::forward<A>(args)...);
}

// In lower case only, as we write it: then a flipped bit that spells the same number is seen, too.
std::optional<uint32_t> parse_crc(std::string_view text) {
  if (text.find_first_of("ABCDEF") != text.npos) return std::nullopt;
  uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  if (text.size() != 8 || error != std::errc() || end != text.data() + 8) return std::nullopt;
  return crc;
}

// Whether all escapes are those that we write: of control characters, in lower case. The checksum
// is of what they spell, so others would hide a flipped bit.
bool has_own_escapes(std::string_view json) {
  for (size_t at = json.find('\\'); at != json.npos; at = json.find('\\', at + 2)) {
    const std::string_view escape = json.substr(at + 1, 5);
    const bool is_short = escape.find_first_of("\"\\nrt") == 0;
    const bool is_long = escape.starts_with("u00") && escape.find_first_of("ABCDEF") == escape.npos;
    if (!is_short && !is_long) return false;
  }
  return true;
}

std::string read_header(const InputFile& file, const SafetensorsLimits& limits) {
  const std::string path = shown(file.path());
  if (file.size() < kHeaderStart)
    throw format_error("'{}' ends at byte {}, a safetensors file has at least 8", path,
                       file.size());
  uint64_t length = 0;
  file.read_exact(&length, sizeof length, 0);
  if (length > file.size() - kHeaderStart)
    throw format_error("'{}' is no safetensors file, or is cut short", path)
        .fact(fmt::format("header       {} bytes, by its first 8", length))
        .fact(fmt::format("file         {} bytes", file.size()));
  if (length > limits.header_bytes)
    throw format_error("'{}' byte 0: a header of {} bytes, at most {}", path, length,
                       limits.header_bytes);
  char first = 0;
  if (length > 0) file.read_exact(&first, 1, kHeaderStart);
  if (first != '{')
    throw format_error("'{}' byte 8: wanted '{{', found '{}'", path,
                       shown({&first, length > 0 ? size_t{1} : 0}));
  std::string text(length, '\0');
  file.read_exact(text.data(), text.size(), kHeaderStart);
  return text;
}

// Brings mapped pages in with one call instead of a fault for every few of them. A file that became
// shorter is an error here, where looking at its pages would kill the process.
void make_present([[maybe_unused]] const InputFile& file, [[maybe_unused]] const char* from,
                  [[maybe_unused]] size_t bytes) {
#if defined(MADV_POPULATE_READ)
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(from) / page * page;
  const size_t length = reinterpret_cast<uintptr_t>(from) + bytes - first;
  if (::madvise(reinterpret_cast<void*>(first), length, MADV_POPULATE_READ) == 0) return;
  if (errno == EFAULT || errno == EIO) fail_io("read", file.path(), EIO);
#endif
}

}  // namespace

class SafetensorsFile::Mapping {
 public:
  explicit Mapping(const InputFile& file) : bytes_(file.size()) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd(), 0);
    if (data_ == MAP_FAILED) fail_io("map", file.path(), errno);
    // A hint: what is not in the page cache yet comes there in huge pages, mapped as such.
    (void)::madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(data_, bytes_); }
  std::byte* at(uint64_t offset) const { return static_cast<std::byte*>(data_) + offset; }

 private:
  void* data_;
  size_t bytes_;
};

SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

SafetensorsFile::SafetensorsFile(const std::string& path, const SafetensorsLimits& limits)
    : file_(path) {
  const std::string text = read_header(file_, limits);
  SafetensorsHeader header = parse_safetensors_header(
      text, file_.size() - kHeaderStart - text.size(), file_.path(), limits);
  entries_ = std::move(header.entries);
  index_names();
  const bool summed = header.metadata.contains(kHeaderChecksumKey);
  read_checksums(header.metadata);
  if (summed && !has_own_escapes(text))
    throw torn("'{}' header has an escape that Rille does not write", shown(file_.path()));
  metadata_ = std::move(header.metadata);
}

void SafetensorsFile::index_names() {
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  const auto name = [this](uint32_t i) -> const std::string& { return entries_[i].name; };
  std::sort(by_name_.begin(), by_name_.end(),
            [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
  const auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                        [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
  if (twice != by_name_.end())
    throw format_error("'{}' holds tensor '{}' twice", shown(path()), shown(name(*twice)));
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto it =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [this](uint32_t i, std::string_view n) { return entries_[i].name < n; });
  return it != by_name_.end() && entries_[*it].name == name ? &entries_[*it] : nullptr;
}

/// Takes our checksums out of the metadata and holds the header against its own.
void SafetensorsFile::read_checksums(Metadata& metadata) {
  const auto sums = metadata.find(kChecksumsKey);
  const auto own = metadata.find(kHeaderChecksumKey);
  if (sums == metadata.end() && own == metadata.end()) return;
  const auto crc = own == metadata.end() ? std::nullopt : parse_crc(own->second);
  if (sums == metadata.end() || !crc || *crc != header_crc(entries_, metadata))
    throw torn("'{}' header fails its checksum", shown(path()))
        .hint("if another program wrote it, have it drop the metadata 'rille.crc32c*'");

  const Value parsed = parse_json(sums->second);
  const Table* table = parsed.get<Table>();
  const auto sum_of = [&](const std::string& name) -> std::optional<uint32_t> {
    const auto it = table->fields.find(name);
    const auto* text = it != table->fields.end() ? it->second.get<std::string>() : nullptr;
    return text ? parse_crc(*text) : std::nullopt;
  };
  for (const TensorEntry& e : entries_) {
    const auto sum = table ? sum_of(e.name) : std::nullopt;
    if (!sum) throw torn("'{}' tensor '{}' has no checksum", shown(path()), shown(e.name));
    checksums_.push_back(*sum);
  }
  if (table && table->fields.size() > entries_.size())
    throw torn("'{}' has checksums of tensors that it lacks", shown(path()));
  metadata.erase(sums);
  metadata.erase(own);
}

void SafetensorsFile::check(const TensorEntry& entry, uint32_t crc) const {
  if (checksums_.empty()) return;
  const TensorEntry* own = find(entry.name);
  if (!own) throw internal_error("tensor '{}' is not of '{}'", shown(entry.name), shown(path()));
  const auto i = static_cast<size_t>(own - entries_.data());
  if (checksums_[i] != crc)
    throw torn("'{}' tensor '{}' fails its checksum", shown(path()), shown(entry.name))
        .fact(fmt::format("at byte      {}, {} bytes", entry.offset, entry.nbytes))
        .fact(fmt::format("stored       {:08x}", checksums_[i]))
        .fact(fmt::format("found        {:08x}", crc));
}

void SafetensorsFile::read_raw(const TensorEntry& entry, void* dst) const {
  uint32_t crc = 0;
  for (uint64_t done = 0; done < entry.nbytes;) {
    // In pieces, so that the checksum finds the bytes in the cache.
    const auto n = static_cast<size_t>(std::min<uint64_t>(kPiece, entry.nbytes - done));
    char* to = static_cast<char*>(dst) + done;
    file_.read_exact(to, n, entry.offset + done);
    if (checksummed()) crc = crc32c(to, n, crc);
    done += n;
  }
  check(entry, crc);
}

namespace {

void check_dtype(const InputFile& file, const TensorEntry& entry) {
  if (!entry.dtype)
    throw dtype_error("'{}' tensor '{}' is {}, which has no dtype here", shown(file.path()),
                      shown(entry.name), entry.tag);
}

void make_booleans(const TensorEntry& entry, void* data) {
  if (*entry.dtype != DType::boolean) return;
  auto* bytes = static_cast<uint8_t*>(data);
  for (uint64_t i = 0; i < entry.nbytes; ++i) bytes[i] = bytes[i] != 0;
}

}  // namespace

void SafetensorsFile::read(const TensorEntry& entry, void* dst) const {
  check_dtype(file_, entry);
  read_raw(entry, dst);
  make_booleans(entry, dst);
}

/// Calls sum_of(target, first byte, bytes) for all pieces of all targets, side by side, and holds
/// the joined sums against the stored ones.
template <class F>
void SafetensorsFile::check_pieces(std::span<const Target> targets, F&& sum_of) const {
  struct Piece {
    const Target* target;
    uint64_t at;
    size_t bytes;
    uint32_t crc;
  };
  std::vector<Piece> pieces;
  for (const Target& t : targets)
    for (uint64_t at = 0; at < t.entry->nbytes; at += kShare)
      pieces.push_back({&t, at, std::min(kShare, t.entry->nbytes - at), 0});
  parallel_for(static_cast<int64_t>(pieces.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      pieces[i].crc = sum_of(*pieces[i].target, pieces[i].at, pieces[i].bytes);
  });
  if (!checksummed()) return;
  auto piece = pieces.begin();
  for (const Target& t : targets) {
    uint32_t crc = 0;
    for (; piece != pieces.end() && piece->target == &t; ++piece)
      crc = crc32c_join(crc, piece->crc, piece->bytes);
    check(*t.entry, crc);
  }
}

void SafetensorsFile::read_all(std::span<const Target> targets) const {
  for (const Target& t : targets) check_dtype(file_, *t.entry);
  check_pieces(targets, [&](const Target& t, uint64_t at, size_t bytes) {
    char* to = static_cast<char*>(t.data) + at;
    file_.read_exact(to, bytes, t.entry->offset + at);
    return checksummed() ? crc32c(to, bytes) : 0;
  });
  for (const Target& t : targets) make_booleans(*t.entry, t.data);
}

std::shared_ptr<std::byte> SafetensorsFile::map(const TensorEntry& entry) {
  if (!mapping_) mapping_ = std::make_shared<Mapping>(file_);
  return {mapping_, mapping_->at(entry.offset)};
}

void SafetensorsFile::verify_mapped(std::span<const Target> targets) const {
  check_pieces(targets, [&](const Target& t, uint64_t at, size_t bytes) {
    const char* from = static_cast<const char*>(t.data) + at;
    make_present(file_, from, bytes);
    return checksummed() ? crc32c(from, bytes) : 0;
  });
}

const std::byte* SafetensorsFile::view(const TensorEntry& entry) {
  if (!mapping_) mapping_ = std::make_shared<Mapping>(file_);
  const std::byte* data = mapping_->at(entry.offset);
  if (checksummed()) check(entry, crc32c(data, entry.nbytes));
  return data;
}

void SafetensorsFile::verify() const {
  if (!checksummed()) return;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  for (const TensorEntry& e : entries_) {
    uint32_t crc = 0;
    for (uint64_t done = 0; done < e.nbytes;) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(kPiece, e.nbytes - done));
      file_.read_exact(buffer.get(), n, e.offset + done);
      crc = crc32c(buffer.get(), n, crc);
      done += n;
    }
    check(e, crc);
  }
}

}  // namespace rille::io
