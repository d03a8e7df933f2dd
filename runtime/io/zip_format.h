// Numbers of the zip format that reader and writer of .npz share. Members stand one after another,
// each behind a local header; then the central directory, which is what counts; then its end
// record. Values that 32 bits cannot hold are all ones there and stand in a 64-bit record.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rille::io::zip {

inline constexpr uint32_t kLocalMark = 0x04034b50, kCentralMark = 0x02014b50;
inline constexpr uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocatorMark = 0x07064b50;
inline constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
inline constexpr size_t kEnd64Size = 56, kLocatorSize = 20;
inline constexpr uint32_t kOnes32 = 0xffffffff;
inline constexpr uint16_t kOnes16 = 0xffff, kExtra64 = 1;
inline constexpr uint16_t kStored = 0, kDeflated = 8;         // methods
inline constexpr uint16_t kEncrypted = 1, kUtf8Name = 0x800;  // flags
inline constexpr std::string_view kSuffix = ".npy";

}  // namespace rille::io::zip
