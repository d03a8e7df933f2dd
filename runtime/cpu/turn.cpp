#include "cpu/turn.h"

#include <algorithm>
#include <utility>

#include "cpu/isa.h"
#include "cpu/vec.h"

namespace rille::cpu {
namespace {

// Lanes of a square's side: more than 16 registers would not stay in registers.
template <class U, class Isa>
inline constexpr int kSide = std::min<int>(16, Isa::bytes / static_cast<int>(sizeof(U)));
constexpr int kLine = 64;  // bytes that the memory moves at once

// The lower and the upper halves of a and b, lane about lane.
template <class V, int... I>
[[gnu::always_inline]] inline void interleave(V& a, V& b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  const V low = __builtin_shufflevector(a, b, (I % 2 * n + I / 2)...);
  const V high = __builtin_shufflevector(a, b, (I % 2 * n + I / 2 + n / 2)...);
  a = low;
  b = high;
}

// After log2(n) rounds of shuffling like a pack of cards, rows[i][j] is where rows[j][i] was.
template <int n, class V>
[[gnu::always_inline]] inline void turn_square(V (&rows)[n]) {
#pragma GCC unroll 4
  for (int round = 1; round < n; round *= 2) {
    V out[n];
#pragma GCC unroll 16
    for (int i = 0; i < n / 2; ++i) {
      out[2 * i] = rows[i];
      out[2 * i + 1] = rows[i + n / 2];
      interleave(out[2 * i], out[2 * i + 1], std::make_integer_sequence<int, n>());
    }
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) rows[i] = out[i];
  }
}

template <class V>
[[gnu::always_inline]] inline void store_past_caches([[maybe_unused]] void* p,
                                                     [[maybe_unused]] const V& v) {
#if defined(__x86_64__)
  if constexpr (sizeof(V) == kLine)
    asm volatile("vmovntdq %1, %0" : "=m"(*static_cast<V*>(p)) : "v"(v));
#endif
}

template <class U>
struct TurnJob {
  const Turn<U>& t;

  [[gnu::always_inline]] void piece(int64_t r0, int64_t r1, int64_t s0, int64_t s1) const {
    for (int64_t r = r0; r < r1; ++r)
      for (int64_t s = s0; s < s1; ++s) t.y[r * t.step + s] = t.x[r + s * t.stride];
  }

  template <class V, int n, bool past>
  [[gnu::always_inline]] void square(int64_t r, int64_t s) const {
    V rows[n];
    const U* x = t.x + r + s * t.stride;
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) {
      __builtin_memcpy(&rows[i], x + i * t.stride, sizeof(V));
      __builtin_prefetch(x + (i + n) * t.stride);
    }
    turn_square<n>(rows);
    U* y = t.y + r * t.step + s;
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) {
      if constexpr (past)
        store_past_caches(y + i * t.step, rows[i]);
      else
        __builtin_memcpy(y + i * t.step, &rows[i], sizeof(V));
    }
  }

  template <class V, int n, bool past>
  [[gnu::always_inline]] void band(int64_t r0, int64_t r1) const {
    const int64_t whole_r = r0 + (r1 - r0) / n * n, whole_s = t.cols / n * n;
    for (int64_t s = 0; s < whole_s; s += n)
      for (int64_t r = r0; r < whole_r; r += n) square<V, n, past>(r, s);
    piece(r0, whole_r, whole_s, t.cols);
    piece(whole_r, r1, 0, t.cols);
  }

  template <class Isa>
  [[gnu::always_inline]] void run() const {
    constexpr int n = kSide<U, Isa>;
    using V = Vec<U, n* static_cast<int>(sizeof(U))>;
    const auto lined_up = [](auto v) { return reinterpret_cast<uintptr_t>(v) % kLine == 0; };
    const bool past = sizeof(V) == kLine && t.past_caches && lined_up(t.y) &&
                      t.step * static_cast<int64_t>(sizeof(U)) % kLine == 0;
    for (int64_t r = 0; r < t.rows; r += kTurnRows) {
      const int64_t end = std::min(r + kTurnRows, t.rows);
      if (past)
        band<V, n, sizeof(V) == kLine>(r, end);
      else
        band<V, n, false>(r, end);
    }
#if defined(__x86_64__)
    if (past) __builtin_ia32_sfence();  // other threads read it next
#endif
  }
};

}  // namespace

template <class U>
void turn(const Turn<U>& t) {
  run_best(TurnJob<U>{t});
}
template void turn(const Turn<uint8_t>&);
template void turn(const Turn<uint16_t>&);
template void turn(const Turn<uint32_t>&);
template void turn(const Turn<uint64_t>&);

}  // namespace rille::cpu
