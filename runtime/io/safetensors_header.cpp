#include "io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/fail.h"
#include "io/crc32c.h"
#include "io/json_scan.h"
#include "io/layout.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

constexpr Tag kForeignTags[] = {{"U64", 64, {}}, {"U32", 32, {}}, {"U16", 16, {}}, {"C64", 64, {}}};

/// Follows the header's grammar event by event: {name: {dtype, shape, data_offsets}, ...}.
class HeaderEvents final : public JsonEvents {
 public:
  HeaderEvents(SafetensorsHeader& out, uint64_t data_start, const std::string& path,
               const SafetensorsLimits& limits)
      : out_(out), data_start_(data_start), path_(path), limits_(limits) {}

  size_t position = 0;

  void on_null() override { wrong("null"); }
  void on_bool(bool b) override { wrong(b ? "true" : "false"); }
  void on_int(int64_t i) override { wrong(std::to_string(i)); }
  void on_double(double d) override { wrong(fmt::format("the number {}", d)); }
  void on_error(std::string_view near) override {
    throw here(fmt::format("not JSON near '{}'", shown(near, 40)));
  }

  void on_unsigned(uint64_t u) override {
    if (in_ == In::shape) {
      if (u > static_cast<uint64_t>(INT64_MAX)) wrong(std::to_string(u));
      if (entry_.shape.size() >= kMaxRank)
        throw here(fmt::format("{} has more than {} dimensions", subject(), kMaxRank));
      entry_.shape.push_back(static_cast<int64_t>(u));
    } else if (in_ == In::offsets && offsets_seen_ < offsets_.size()) {
      offsets_[offsets_seen_++] = u;
    } else {
      wrong(std::to_string(u));
    }
  }

  void on_string(std::string& s) override {
    if (in_ == In::metadata) {
      if (!out_.metadata.try_emplace(key_, std::move(s)).second) repeated(key_);
    } else if (in_ == In::entry && field_ == kDtype) {
      const Tag tag = find_tag(s);
      if (tag.bits == 0) throw here(fmt::format("{} has dtype '{}'", subject(), shown(s, 40)));
      entry_.tag = tag.text;
      entry_.dtype = tag.dtype;
      bits_ = tag.bits;
    } else {
      wrong(fmt::format("'{}'", shown(s, 40)));
    }
  }

  void on_key(std::string& s) override {
    if (in_ == In::entry) {
      begin_field(s);
      return;
    }
    if (s.size() > limits_.name_bytes)
      throw here(fmt::format("a name of {} bytes, at most {}", s.size(), limits_.name_bytes));
    key_ = std::move(s);
  }

  void on_object(bool begins) override { begins ? enter_object() : leave_object(); }

  void on_array(bool begins) override {
    if (!begins) {
      if (in_ == In::offsets && offsets_seen_ != 2)
        throw here(fmt::format("{} wants two data_offsets, found {}", subject(), offsets_seen_));
      in_ = In::entry;
      return;
    }
    if (in_ == In::entry && field_ == kShape)
      in_ = In::shape;
    else if (in_ == In::entry && field_ == kOffsets)
      in_ = In::offsets;
    else
      wrong("[");
  }

 private:
  enum class In : uint8_t { start, tensors, metadata, entry, shape, offsets };
  static constexpr unsigned kDtype = 1, kShape = 2, kOffsets = 4, kAll = 7;

  std::string subject() const { return fmt::format("tensor '{}'", shown(entry_.name)); }

  Error here(const std::string& what) const {
    return format_error("'{}' byte {}: {}", shown(path_), kHeaderStart + position, what);
  }
  [[noreturn]] void repeated(const std::string& key) const {
    throw here(fmt::format("'{}' is repeated", shown(key)));
  }

  [[noreturn]] void wrong(const std::string& found) const {
    switch (in_) {
      case In::start: throw here("wanted '{', found " + found);
      case In::tensors: throw here(fmt::format("'{}' wants {{, found {}", shown(key_), found));
      case In::metadata: throw here(fmt::format("metadata '{}' must be text", shown(key_)));
      case In::entry: break;
      case In::shape: throw here(fmt::format("{} has size {} in shape", subject(), found));
      case In::offsets: throw here(fmt::format("{} has {} in data_offsets", subject(), found));
    }
    const auto want = field_ == kDtype   ? "dtype wants text"
                      : field_ == kShape ? "shape wants ["
                                         : "data_offsets wants [";
    throw here(fmt::format("{}: {}, found {}", subject(), want, found));
  }

  void begin_field(const std::string& s) {
    field_ = s == "dtype" ? kDtype : s == "shape" ? kShape : s == "data_offsets" ? kOffsets : 0;
    if (field_ == 0) throw here(fmt::format("{} has unknown field '{}'", subject(), shown(s, 40)));
    if (seen_ & field_) repeated(s);
    seen_ |= field_;
  }

  void enter_object() {
    if (in_ == In::start) {
      in_ = In::tensors;
    } else if (in_ == In::tensors && key_ == kMetadataName) {
      if (metadata_seen_) repeated(key_);
      metadata_seen_ = true;
      in_ = In::metadata;
    } else if (in_ == In::tensors) {
      entry_ = {};
      entry_.name = key_;
      seen_ = bits_ = 0;
      offsets_seen_ = 0;
      in_ = In::entry;
    } else {
      wrong("{");
    }
  }

  void leave_object() {
    if (in_ == In::entry) finish_entry();
    in_ = In::tensors;
  }

  void finish_entry() {
    if (seen_ != kAll)
      throw here(fmt::format("{} lacks {}", subject(),
                             !(seen_ & kDtype)   ? "dtype"
                             : !(seen_ & kShape) ? "shape"
                                                 : "data_offsets"));
    const auto bytes = dense_bytes(entry_.shape, bits_);
    if (!bytes)
      throw here(
          fmt::format("{} has an impossible shape [{}]", subject(), fmt::join(entry_.shape, ", ")));
    const auto [begin, end] = offsets_;
    if (begin > end || end - begin != *bytes)
      throw here(fmt::format("{} of {} bytes lies at {} to {}", subject(), *bytes, begin, end));
    if (end > kMaxBytes) throw here(fmt::format("{} ends at {}", subject(), end));
    if (out_.entries.size() >= limits_.entries)
      throw here(fmt::format("more than {} tensors", limits_.entries));
    entry_.offset = data_start_ + begin;
    entry_.nbytes = *bytes;
    out_.entries.push_back(std::move(entry_));
  }

  SafetensorsHeader& out_;
  uint64_t data_start_;
  const std::string& path_;
  const SafetensorsLimits& limits_;

  In in_ = In::start;
  bool metadata_seen_ = false;
  std::string key_;
  unsigned field_ = 0, seen_ = 0, bits_ = 0;
  TensorEntry entry_;
  std::array<uint64_t, 2> offsets_{};
  size_t offsets_seen_ = 0;
};

/// Entries must follow one another from the first byte of data to the last: then none overlap, no
/// byte is hidden, and a cut file is seen.
void check_contiguous(const std::vector<TensorEntry>& entries, uint64_t data_start,
                      uint64_t data_bytes, const std::string& path) {
  uint64_t at = data_start;
  for (const TensorEntry& e : entries) {
    if (e.offset != at)
      throw format_error("'{}' tensor '{}' begins at byte {}, wanted {}", shown(path),
                         shown(e.name), e.offset, at);
    at += e.nbytes;
  }
  if (at != data_start + data_bytes)
    throw format_error("'{}' ends at byte {}, its tensors at {}", shown(path),
                       data_start + data_bytes, at);
}

}  // namespace

Tag find_tag(std::string_view text) {
  for (int i = 0; i < kDTypes; ++i) {
    const DTypeInfo& d = info(static_cast<DType>(i));
    if (d.tag == text) return {d.tag, d.bits, static_cast<DType>(i)};
  }
  for (const Tag& tag : kForeignTags)
    if (tag.text == text) return tag;
  return {};
}

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes,
                                           const std::string& path,
                                           const SafetensorsLimits& limits) {
  SafetensorsHeader header;
  const uint64_t data_start = kHeaderStart + text.size();
  HeaderEvents events(header, data_start, path, limits);
  scan_json(text, events, events.position);
  // Empty tensors share their offset with the next one and come first.
  std::stable_sort(header.entries.begin(), header.entries.end(), [](auto& a, auto& b) {
    return std::tie(a.offset, a.nbytes) < std::tie(b.offset, b.nbytes);
  });
  check_contiguous(header.entries, data_start, data_bytes, path);
  return header;
}

uint32_t header_crc(const std::vector<TensorEntry>& entries, const Metadata& metadata) {
  uint32_t crc = 0;
  const auto number = [&](uint64_t n) { crc = crc32c(&n, sizeof n, crc); };
  const auto text = [&](std::string_view s) {
    number(s.size());
    crc = crc32c(s.data(), s.size(), crc);
  };
  std::vector<const TensorEntry*> order;  // empty tensors at one place have no order of their own
  for (const TensorEntry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::tie(a->offset, a->nbytes, a->name) < std::tie(b->offset, b->nbytes, b->name);
  });
  number(order.size());
  for (const TensorEntry* e : order) {
    text(e->name);
    text(e->tag);
    number(e->shape.size());
    for (const int64_t n : e->shape) number(static_cast<uint64_t>(n));
    number(e->offset - order.front()->offset);
    number(e->nbytes);
  }
  for (const auto& [key, value] : metadata) {
    if (key == kHeaderChecksumKey) continue;
    text(key);
    text(value);
  }
  return crc;
}

}  // namespace rille::io
