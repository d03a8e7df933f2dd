#include "cpu/stream.h"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace rille::cpu {

#if defined(__x86_64__)

void stream_copy(void* to, const void* from, int64_t bytes) {
  constexpr int64_t kLine = 64, kUnit = sizeof(__m128i);
  char* t = static_cast<char*>(to);
  const char* f = static_cast<const char*>(from);
  // Whole lines only: of half a line the memory would have to be read after all.
  const int64_t before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(t) % kLine);
  const int64_t head = std::min(bytes, before), lines = (bytes - head) / kLine * kLine;
  std::memcpy(t, f, static_cast<size_t>(head));
  t += head;
  f += head;
  for (int64_t i = 0; i < lines; i += kLine)
    for (int64_t j = i; j < i + kLine; j += kUnit)
      _mm_stream_si128(reinterpret_cast<__m128i*>(t + j),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(f + j)));
  std::memcpy(t + lines, f + lines, static_cast<size_t>(bytes - head - lines));
}

StreamEnd::~StreamEnd() {
  if (streamed_) _mm_sfence();
}

#else

void stream_copy(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}
StreamEnd::~StreamEnd() = default;

#endif

}  // namespace rille::cpu
