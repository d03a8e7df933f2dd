#include "cpu/tiles.h"

#include <atomic>
#include <cstring>

#include "cpu/isa.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace rille::cpu {
namespace {

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

// Tiles make a thread's state 8 KiB larger, so Linux wants to be asked, once a process.
bool ask_for_tiles() {
  constexpr long kAsk = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAsk, kTileData) == 0;
}

bool find_tiles() {
  return has_bf16_pairs() && __builtin_cpu_supports("amx-tile") &&
         __builtin_cpu_supports("amx-bf16") && ask_for_tiles();
}

void store_configuration(uint8_t* to) { asm volatile("sttilecfg (%0)" : : "r"(to) : "memory"); }
void load_configuration(const uint8_t* from) {
  asm volatile("ldtilecfg (%0)" : : "r"(from) : "memory");
}

#else

bool find_tiles() { return false; }
void store_configuration(uint8_t*) {}
void load_configuration(const uint8_t*) {}

#endif

// What ldtilecfg reads: the palette, which row to begin at, and the sizes of the registers.
struct Configuration {
  uint8_t palette = 1, start = 0, unused[14] = {};
  uint16_t bytes[16] = {};  // of a row
  uint8_t rows[16] = {};

  Configuration() {
    for (int i = 0; i < 8; ++i) {
      bytes[i] = kTileCells * sizeof(uint32_t);
      rows[i] = kTileRows;
    }
  }
};
static_assert(sizeof(Configuration) == 64);

std::atomic<bool>& tiles() {
  static std::atomic<bool> on = find_tiles();
  return on;
}

}  // namespace

bool has_tiles() { return tiles().load(std::memory_order_relaxed); }
void set_tiles(bool on) { tiles().store(on, std::memory_order_relaxed); }

TileScope::TileScope() : on_(has_tiles()) {
  if (!on_) return;
  store_configuration(before_);
  alignas(64) static const Configuration whole;
  load_configuration(reinterpret_cast<const uint8_t*>(&whole));
}

// No configuration at all reads as zeros, and zeros let the registers go.
TileScope::~TileScope() {
  if (on_) load_configuration(before_);
}

}  // namespace rille::cpu
