#include "io/stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/fail.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

constexpr size_t kZlibPiece = size_t{1} << 30;  // zlib counts in 32 bits
constexpr uint64_t kDeflateRatio = 1032;  // the most that deflate can pack: 258 bytes in 2 bits

class PlainStream final : public ByteStream {
 public:
  PlainStream(std::shared_ptr<const InputFile> file, uint64_t offset, uint64_t length,
              std::string label)
      : file_(std::move(file)), at_(offset), left_(length), label_(std::move(label)) {}

  size_t read(void* dst, size_t bytes) override {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(bytes, left_));
    const size_t got = file_->read_some(dst, wanted, at_);
    at_ += got, left_ -= got, position_ += got;
    return got;
  }
  uint64_t bound() const override { return left_; }
  const std::string& label() const override { return label_; }

 private:
  std::shared_ptr<const InputFile> file_;
  uint64_t at_, left_;
  std::string label_;
};

class InflateStream final : public ByteStream {
 public:
  InflateStream(std::shared_ptr<const InputFile> file, uint64_t offset, uint64_t length, bool gzip,
                std::string label)
      : file_(std::move(file)), at_(offset), left_(length), gzip_(gzip), label_(std::move(label)) {
    constexpr int kWindow = 15, kGzip = 16;
    if (::inflateInit2(&z_, gzip ? kWindow + kGzip : -kWindow) != Z_OK) throw std::bad_alloc();
  }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() override { ::inflateEnd(&z_); }

  size_t read(void* dst, size_t bytes) override {
    size_t done = 0;
    while (done < bytes && !ended_) {
      if (z_.avail_in == 0) refill();
      const size_t piece = std::min(bytes - done, kZlibPiece);
      z_.next_out = static_cast<Bytef*>(dst) + done;
      z_.avail_out = static_cast<uInt>(piece);
      const int result = ::inflate(&z_, Z_NO_FLUSH);
      done += piece - z_.avail_out;
      if (result == Z_STREAM_END)
        end_member();
      else if (result == Z_BUF_ERROR && z_.avail_in == 0 && left_ == 0)
        fail_at("is cut short");
      else if (result != Z_OK && result != Z_BUF_ERROR)
        fail_at(z_.msg ? z_.msg : "is not compressed data");
    }
    position_ += done;
    return done;
  }
  uint64_t bound() const override {
    const uint64_t packed = std::min(left_ + z_.avail_in, UINT64_MAX / (2 * kDeflateRatio));
    return ended_ ? 0 : packed * kDeflateRatio + kWindowBytes;
  }
  const std::string& label() const override { return label_; }

 private:
  static constexpr uint64_t kWindowBytes = 32768;  // what zlib may hold back

  uint64_t compressed_at() const { return at_ - z_.avail_in; }

  [[noreturn]] void fail_at(const char* what) const {
    throw format_error("'{}' byte {}: {}", label_, compressed_at(), what);
  }

  void refill() {
    const size_t n = file_->read_some(
        buffer_.data(), static_cast<size_t>(std::min<uint64_t>(buffer_.size(), left_)), at_);
    if (n == 0 && left_ > 0) fail_at("is cut short");
    at_ += n, left_ -= n;
    z_.next_in = buffer_.data();
    z_.avail_in = static_cast<uInt>(n);
  }

  /// gzip files may be several streams in a row; anything else behind the end is foreign.
  void end_member() {
    if (z_.avail_in == 0 && left_ > 0) refill();
    ended_ = z_.avail_in == 0;
    if (ended_) return;
    if (!gzip_ || z_.next_in[0] != 0x1f) fail_at("bytes behind the compressed data");
    ::inflateReset(&z_);
  }

  std::shared_ptr<const InputFile> file_;
  uint64_t at_, left_;
  bool gzip_, ended_ = false;
  std::string label_;
  z_stream z_{};
  std::array<Bytef, size_t{64} << 10> buffer_;
};

}  // namespace

void ByteStream::read_exact(void* dst, size_t bytes) {
  const uint64_t from = position_;
  const size_t got = read(dst, bytes);
  if (got < bytes)
    throw format_error("'{}' ends at byte {}, wanted {} bytes at {}", label(), from + got, bytes,
                       from);
}

void ByteStream::expect_end() {
  char extra;
  const uint64_t end = position_;
  if (read(&extra, 1) != 0) throw format_error("'{}' goes on after byte {}", label(), end);
}

std::unique_ptr<ByteStream> open_stream(std::shared_ptr<const InputFile> file, uint64_t offset,
                                        uint64_t length, Wrapping wrapping, std::string label) {
  if (wrapping == Wrapping::none)
    return std::make_unique<PlainStream>(std::move(file), offset, length, std::move(label));
  return std::make_unique<InflateStream>(std::move(file), offset, length,
                                         wrapping == Wrapping::gzip, std::move(label));
}

std::vector<std::byte> deflate_bytes(const std::vector<std::pair<const void*, size_t>>& parts,
                                     int level) {
  z_stream z{};
  if (::deflateInit2(&z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, ::deflateEnd);
  std::vector<std::byte> out;
  std::array<Bytef, size_t{64} << 10> buffer;
  const auto run = [&](const void* data, size_t bytes, int flush) {
    z.next_in = static_cast<Bytef*>(const_cast<void*>(data));
    z.avail_in = static_cast<uInt>(bytes);
    do {
      z.next_out = buffer.data();
      z.avail_out = static_cast<uInt>(buffer.size());
      ::deflate(&z, flush);
      const auto* first = reinterpret_cast<const std::byte*>(buffer.data());
      out.insert(out.end(), first, first + (buffer.size() - z.avail_out));
    } while (z.avail_out == 0);
  };
  for (const auto& [data, bytes] : parts)
    for (size_t done = 0; done < bytes; done += kZlibPiece)
      run(static_cast<const char*>(data) + done, std::min(kZlibPiece, bytes - done), Z_NO_FLUSH);
  run(nullptr, 0, Z_FINISH);
  return out;
}

uint32_t zip_crc(const void* data, size_t bytes, uint32_t before) {
  if (bytes == 0) return before;  // zlib starts afresh at a null pointer
  return static_cast<uint32_t>(::crc32_z(before, static_cast<const Bytef*>(data), bytes));
}

}  // namespace rille::io
