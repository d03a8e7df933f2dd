#include <algorithm>
#include <optional>

#include "core/fail.h"
#include "io/joined_write.h"
#include "io/json.h"
#include "io/layout.h"
#include "io/safetensors.h"
#include "io/safetensors_header.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

/// The reference writer sorts by the format's place in its own list; the wide ones come first.
int rank_of(DType d) {
  constexpr DType kOrder[] = {
      DType::i64,         DType::f64,         DType::f32,     DType::i32,     DType::bf16,
      DType::f16,         DType::i16,         DType::f8_e8m0, DType::f8_e4m3, DType::f8_e5m2,
      DType::f8_e4m3fnuz, DType::f8_e5m2fnuz, DType::i8,      DType::u8,      DType::f6_e3m2,
      DType::f6_e2m3,     DType::f4_e2m1,     DType::boolean};
  static_assert(std::size(kOrder) == kDTypes);
  return static_cast<int>(std::find(kOrder, std::end(kOrder), d) - kOrder);
}

std::vector<const TensorItem*> sorted(const std::vector<TensorItem>& items) {
  std::vector<const TensorItem*> order;
  for (const TensorItem& item : items) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    const int ra = rank_of(a->dtype), rb = rank_of(b->dtype);
    return ra != rb ? ra < rb : a->name < b->name;
  });
  return order;
}

void check_text(std::string_view what, const std::string& text, const std::string& path) {
  if (!is_utf8(text))
    throw arg_error("cannot write '{}': {} '{}' is not UTF-8", shown(path), what, shown(text, 60));
}

// Its bits are counted, but are no whole number of bytes.
bool fills_no_byte(const TensorItem& item) {
  return !dense_bytes(item.shape, static_cast<unsigned>(bits_of(item.dtype))) &&
         dense_bytes(item.shape, 8);
}

/// Entries with offsets from the start of the data.
std::vector<TensorEntry> lay_out(const std::vector<const TensorItem*>& items,
                                 const std::string& path) {
  const SafetensorsLimits limits;
  std::vector<TensorEntry> entries;
  uint64_t at = 0;
  for (const TensorItem* item : items) {
    const DTypeInfo& d = info(item->dtype);
    const auto bytes = dense_bytes(item->shape, d.bits);
    check_text("name", item->name, path);
    if (item->name == kMetadataName || item->name.size() > limits.name_bytes)
      throw arg_error("cannot write '{}': a tensor cannot be named '{}'", shown(path),
                      shown(item->name, 60));
    if (!bytes && fills_no_byte(*item))
      throw arg_error("cannot write '{}': tensor '{}' of {} ends inside a byte", shown(path),
                      shown(item->name), name(item->dtype))
          .hint("safetensors wants whole bytes: pad it, or save w:to \"f8_e4m3\"");
    if (!bytes || at + *bytes > kMaxBytes)
      throw arg_error("cannot write '{}': tensor '{}' is too large", shown(path),
                      shown(item->name));
    entries.push_back({item->name, d.tag, item->dtype, item->shape, at, *bytes});
    at += *bytes;
  }
  if (entries.size() > limits.entries)
    throw arg_error("cannot write '{}': {} tensors, at most {}", shown(path), entries.size(),
                    limits.entries);
  std::vector<std::string_view> names;
  for (const TensorEntry& e : entries) names.push_back(e.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    throw arg_error("cannot write '{}': two tensors are named '{}'", shown(path), shown(*twice));
  return entries;
}

/// Sums of 0 stand in until the bytes were written: the header's length doesn't depend on them.
void add_checksums(Metadata& metadata, const std::vector<TensorEntry>& entries,
                   const std::vector<uint32_t>& crcs) {
  Table sums;
  for (size_t i = 0; i < entries.size(); ++i)
    sums.fields.emplace(entries[i].name, fmt::format("{:08x}", crcs[i]));
  metadata[std::string(kChecksumsKey)] = dump_json(sums);
  metadata.erase(std::string(kHeaderChecksumKey));
  metadata[std::string(kHeaderChecksumKey)] = fmt::format("{:08x}", header_crc(entries, metadata));
}

std::string header_text(const std::vector<TensorEntry>& entries, const Metadata& metadata) {
  std::string text = "{";
  const auto next = [&] {
    if (text.size() > 1) text += ',';
  };
  if (!metadata.empty()) {
    append_json_string(text, kMetadataName);
    text += ":{";
    for (auto it = metadata.begin(); it != metadata.end(); ++it) {
      if (it != metadata.begin()) text += ',';
      append_json_string(text, it->first);
      text += ':';
      append_json_string(text, it->second);
    }
    text += '}';
  }
  for (const TensorEntry& e : entries) {
    next();
    append_json_string(text, e.name);
    text += fmt::format(":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", e.tag,
                        fmt::join(e.shape, ","), e.offset, e.offset + e.nbytes);
  }
  text += '}';
  constexpr size_t kAlign = 8;
  text.append((kAlign - text.size() % kAlign) % kAlign, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorItem>& items,
                       const Metadata& metadata, const SaveOptions& options) {
  check_path(path);
  const std::vector<const TensorItem*> order = sorted(items);
  const std::vector<TensorEntry> entries = lay_out(order, path);
  Metadata all = metadata;
  all.erase(std::string(kChecksumsKey));
  all.erase(std::string(kHeaderChecksumKey));
  for (const auto& [key, value] : all) {
    check_text("metadata", key, path);
    check_text("metadata", value, path);
  }
  if (options.checksums) add_checksums(all, entries, std::vector<uint32_t>(entries.size(), 0));
  std::string header = header_text(entries, all);
  const SafetensorsLimits limits;
  if (header.size() > limits.header_bytes)
    throw arg_error("cannot write '{}': names and metadata take {} bytes, at most {}", shown(path),
                    header.size(), limits.header_bytes)
        .hint("save long lists of numbers as a tensor");

  check_target(path);  // before a lock file is made beside it
  std::optional<FileLock> lock;
  if (options.lock) {
    lock.emplace(FileLock::path_for(path), options.lock_timeout_s);
    remove_stale_temporaries(path);
  }
  AtomicFile file(path);
  const uint64_t length = header.size();
  const uint64_t data = entries.empty() ? 0 : entries.back().offset + entries.back().nbytes;
  file.reserve(kHeaderStart + length + data);
  std::vector<Part> parts;
  for (size_t i = 0; i < order.size(); ++i) parts.push_back({order[i]->data, entries[i].nbytes});
  const auto crcs = write_joined(file, kHeaderStart + length, parts, options.checksums);
  if (options.checksums) {
    add_checksums(all, entries, crcs);
    header = header_text(entries, all);
  }
  if (header.size() != length) throw internal_error("the header's length changed");
  file.write_at(&length, sizeof length, 0);
  file.write_at(header.data(), length, kHeaderStart);
  file.commit();
}

}  // namespace rille::io
