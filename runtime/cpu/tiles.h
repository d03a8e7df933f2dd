// The tile unit of AMX: eight registers of 16 rows of 64 bytes. multiply_tiles<c, a, b> adds to the
// 16 x 16 sums in f32 of c the product of a, rows of 16 pairs of bf16 (cpu/cells.h), and b, whose
// 16 rows are one step of pairs each. The program numbers the registers, so they are template
// arguments. The instructions are written out, as in cpu/cells.h.
#pragma once
#include <cstdint>

namespace rille::cpu {

/// This processor has the unit, and the kernel lets this process use it.
bool has_tiles();
/// From now on. For tests that carry out the instructions themselves (tests/support/tiles.h).
void set_tiles(bool on);

inline constexpr int64_t kTileRows = 16, kTileCells = 16;

/// While one lives, the registers of this thread are whole tiles; later what they were before, as
/// oneDNN sets them up for itself. Nothing where there are none.
class TileScope {
 public:
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  alignas(64) uint8_t before_[64];
  bool on_;
};

#if defined(__x86_64__) && defined(__GNUC__)

template <int kTile>
[[gnu::always_inline]] inline void zero_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

/// Rows are `row` bytes apart.
template <int kTile>
[[gnu::always_inline]] inline void load_tile(const void* from, int64_t row) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row), "i"(kTile) : "memory");
}

template <int kTile>
[[gnu::always_inline]] inline void store_tile(void* to, int64_t row) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(row), "i"(kTile) : "memory");
}

template <int kSum, int kLeft, int kRight>
[[gnu::always_inline]] inline void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
}

#else

template <int>
void zero_tile() {}
template <int>
void load_tile(const void*, int64_t) {}
template <int>
void store_tile(void*, int64_t) {}
template <int, int, int>
void multiply_tiles() {}

#endif

}  // namespace rille::cpu
