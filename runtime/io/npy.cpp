#include "io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/fail.h"
#include "io/layout.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kHeaderLimit = 65536;

struct Code {
  DType dtype;
  std::string_view text;  // kind and size, without the byte order
};
constexpr Code kCodes[] = {{DType::f64, "f8"}, {DType::f32, "f4"}, {DType::f16, "f2"},
                           {DType::i64, "i8"}, {DType::i32, "i4"}, {DType::i16, "i2"},
                           {DType::i8, "i1"},  {DType::u8, "u1"},  {DType::boolean, "b1"}};

/// Reads the one kind of Python literal that numpy writes: {'descr': '<f4', 'fortran_order': False,
/// 'shape': (3, 4), }, in any order.
class DictReader {
 public:
  DictReader(std::string_view text, uint64_t start, const std::string& label)
      : text_(text), start_(start), label_(label) {}

  NpyInfo read() {
    want('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      want(':');
      field(key);
      if (!take(',')) {
        want('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) wrong("the end of the header");
    if (seen_ != 7) wrong("descr, fortran_order and shape");
    const auto bytes = dense_bytes(info_.shape, static_cast<unsigned>(8 * size_of(info_.dtype)));
    if (!bytes)
      throw format_error("'{}': impossible shape ({})", label_, fmt::join(info_.shape, ", "));
    info_.nbytes = *bytes;
    return info_;
  }

 private:
  void field(std::string_view key) {
    const unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
    if (bit == 0 || (seen_ & bit)) wrong("descr, fortran_order or shape, once");
    seen_ |= bit;
    if (bit == 1) descr();
    if (bit == 2) info_.fortran = boolean();
    if (bit == 4) shape();
  }

  void descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') unknown("a record");
    const std::string_view code = quoted();
    const char order = code.empty() ? '\0' : code[0];
    if (std::string_view("<>=|").find(order) == std::string_view::npos) unknown(code);
    for (const Code& c : kCodes)
      if (code.substr(1) == c.text) {
        info_.dtype = c.dtype;
        info_.swapped = order == '>' && size_of(c.dtype) > 1;
        return;
      }
    unknown(code);
  }

  void shape() {
    want('(');
    while (!take(')')) {
      info_.shape.push_back(integer());
      if (info_.shape.size() > kMaxRank) wrong(fmt::format("at most {} sizes", kMaxRank));
      if (!take(',')) {
        want(')');
        break;
      }
    }
  }

  int64_t integer() {
    skip_space();
    int64_t n = 0;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), n);
    if (error != std::errc() || n < 0) wrong("a size");
    at_ += static_cast<size_t>(end - first);
    return n;
  }

  bool boolean() {
    skip_space();
    const bool yes = text_.substr(at_).starts_with("True");
    if (!yes && !text_.substr(at_).starts_with("False")) wrong("True or False");
    at_ += yes ? 4 : 5;
    return yes;
  }

  std::string_view quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) wrong("text in quotes");
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inner;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void want(char c) {
    if (!take(c)) wrong(fmt::format("'{}'", c));
  }

  [[noreturn]] void wrong(std::string_view wanted) const {
    const auto rest = at_ < text_.size() ? text_.substr(at_, 20) : "the end";
    throw format_error("'{}' byte {}: wanted {}, found '{}'", label_, start_ + at_, wanted,
                       shown(rest, 40));
  }
  [[noreturn]] void unknown(std::string_view code) const {
    throw dtype_error("'{}' holds elements of numpy type '{}', which has no dtype here", label_,
                      shown(code, 40))
        .hint("read are f2 f4 f8 i1 i2 i4 i8 u1 b1");
  }

  std::string_view text_;
  uint64_t start_;
  const std::string& label_;
  size_t at_ = 0;
  unsigned seen_ = 0;
  NpyInfo info_;
};

NpyInfo read_header(ByteStream& in) {
  unsigned char head[8];
  const size_t got = in.read(head, sizeof head);
  if (got < sizeof head || std::memcmp(head, kMagic.data(), kMagic.size()) != 0)
    throw format_error("'{}' byte 0: not a .npy file, found '{}'", in.label(),
                       shown({reinterpret_cast<char*>(head), std::min<size_t>(got, 6)}));
  const unsigned version = head[6];
  if (version < 1 || version > 3)
    throw format_error("'{}' byte 6: .npy version {}, read are 1 to 3", in.label(), version);
  unsigned char size[4] = {};
  in.read_exact(size, version == 1 ? 2 : 4);
  const size_t length =
      size[0] | (size_t{size[1]} << 8) | (size_t{size[2]} << 16) | (size_t{size[3]} << 24);
  if (length > kHeaderLimit || length > in.bound())
    throw format_error("'{}' byte 8: a header of {} bytes", in.label(), length);
  const uint64_t start = in.position();
  std::string text(length, '\0');
  in.read_exact(text.data(), length);
  return DictReader(text, start, in.label()).read();
}

void swap_bytes(char* data, uint64_t bytes, size_t width) {
  for (uint64_t at = 0; at < bytes; at += width) std::reverse(data + at, data + at + width);
}

/// Column-major to row-major: walks the target in order and keeps the source's offset beside it.
void turn_round(const char* from, char* to, const NpyInfo& a) {
  const size_t width = size_of(a.dtype), rank = a.shape.size();
  std::vector<uint64_t> stride(rank);
  uint64_t step = width;
  for (size_t d = 0; d < rank; ++d) {
    stride[d] = step;
    step *= static_cast<uint64_t>(a.shape[d]);
  }
  std::vector<int64_t> index(rank, 0);
  uint64_t source = 0;
  for (uint64_t done = 0; done < a.nbytes; done += width) {
    std::memcpy(to + done, from + source, width);
    for (size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < a.shape[d]) break;
      source -= stride[d] * static_cast<uint64_t>(a.shape[d]);
      index[d] = 0;
    }
  }
}

}  // namespace

NpyReader::NpyReader(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), info_(read_header(*stream_)) {
  if (info_.nbytes > stream_->bound())
    throw format_error("'{}' ends before its data do: wanted {} bytes at {}", stream_->label(),
                       info_.nbytes, stream_->position());
}

void NpyReader::read(void* dst) {
  char* out = static_cast<char*>(dst);
  std::unique_ptr<char[]> columns;
  if (info_.fortran && info_.shape.size() > 1)
    columns = std::make_unique_for_overwrite<char[]>(info_.nbytes);
  char* raw = columns ? columns.get() : out;
  stream_->read_exact(raw, info_.nbytes);
  stream_->expect_end();
  if (info_.swapped) swap_bytes(raw, info_.nbytes, size_of(info_.dtype));
  if (columns) turn_round(raw, out, info_);
  if (info_.dtype == DType::boolean)
    for (uint64_t i = 0; i < info_.nbytes; ++i) out[i] = out[i] != 0;
}

NpyReader open_npy(const std::string& path) {
  auto file = std::make_shared<const InputFile>(path);
  const uint64_t size = file->size();
  return NpyReader(open_stream(std::move(file), 0, size, Wrapping::none, shown(path)));
}

std::string npy_header(const NpyArray& array) {
  std::string_view code;
  for (const Code& c : kCodes)
    if (c.dtype == array.dtype) code = c.text;
  if (code.empty())
    throw dtype_error("numpy has no type for {}", name(array.dtype)).hint("x:to \"f32\"");
  if (!dense_bytes(array.shape, static_cast<unsigned>(8 * size_of(array.dtype))))
    throw arg_error("impossible shape ({})", fmt::join(array.shape, ", "));
  const char order = size_of(array.dtype) == 1 ? '|' : '<';
  std::string dict =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order, code,
                  fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  constexpr size_t kAlign = 64, kFixed = 10;  // magic, version, length
  const size_t total = (kFixed + dict.size() + 1 + kAlign - 1) / kAlign * kAlign;
  dict.append(total - kFixed - dict.size() - 1, ' ');
  dict += '\n';
  std::string out(kMagic);
  out +=
      {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return out + dict;
}

void write_npy(const std::string& path, const NpyArray& array) {
  const std::string header = npy_header(array);
  const auto bytes = dense_bytes(array.shape, static_cast<unsigned>(8 * size_of(array.dtype)));
  AtomicFile file(path);
  file.reserve(header.size() + *bytes);
  file.write(header);
  file.write(array.data, *bytes);
  file.commit();
}

}  // namespace rille::io
