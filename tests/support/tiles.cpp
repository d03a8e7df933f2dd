#include "support/tiles.h"

#include <signal.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cpu/block_product.h"
#include "cpu/tiles.h"

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>
#endif

namespace rille::test {

#if defined(__x86_64__) && defined(__linux__)

namespace {

constexpr int kTiles = 8, kRows = 16, kBytes = 64;

struct Tile {
  uint8_t row[kRows][kBytes];
};

struct Unit {
  uint8_t configuration[64];
  Tile tile[kTiles];

  bool configured() const { return configuration[0] == 1; }
  int bytes(int t) const { return configuration[16 + 2 * t] | configuration[17 + 2 * t] << 8; }
  int rows(int t) const { return configuration[48 + t]; }
};

thread_local Unit unit;
std::atomic<long> products_done{0};
struct sigaction before;

[[noreturn]] void refuse() {  // a fault of the program: what the processor would call #UD
  signal(SIGILL, SIG_DFL);
  raise(SIGILL);
  std::abort();
}

void configure(const uint8_t* from) {
  std::memcpy(unit.configuration, from, sizeof unit.configuration);
  std::memset(unit.tile, 0, sizeof unit.tile);
  if (from[0] == 0) std::memset(unit.configuration, 0, sizeof unit.configuration);
  for (int t = 0; t < kTiles; ++t)
    if (unit.bytes(t) > kBytes || unit.rows(t) > kRows) refuse();
}

void load(int t, const uint8_t* from, int64_t stride) {
  std::memset(&unit.tile[t], 0, sizeof(Tile));
  for (int r = 0; r < unit.rows(t); ++r)
    std::memcpy(unit.tile[t].row[r], from + r * stride, static_cast<size_t>(unit.bytes(t)));
}

void store(int t, uint8_t* to, int64_t stride) {
  for (int r = 0; r < unit.rows(t); ++r)
    std::memcpy(to + r * stride, unit.tile[t].row[r], static_cast<size_t>(unit.bytes(t)));
}

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float word(const uint8_t* at) {
  float x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

float bf16_at(const uint8_t* at) {
  const uint32_t bits = static_cast<uint32_t>(at[0] | at[1] << 8) << 16;
  return flushed(std::bit_cast<float>(bits));
}

// Even and odd places of the depth are summed apart, then together, then to what was there.
void multiply(int c, int a, int b) {
  const int depth = unit.bytes(a) / 4, cols = unit.bytes(c) / 4;
  if (unit.rows(b) != depth || unit.bytes(b) != unit.bytes(c) || unit.rows(a) != unit.rows(c))
    refuse();
  for (int m = 0; m < unit.rows(c); ++m)
    for (int n = 0; n < cols; ++n) {
      float even = 0, odd = 0;
      for (int k = 0; k < depth; ++k) {
        const uint8_t *x = unit.tile[a].row[m] + 4 * k, *y = unit.tile[b].row[k] + 4 * n;
        even = flushed(std::fma(bf16_at(x), bf16_at(y), even));
        odd = flushed(std::fma(bf16_at(x + 2), bf16_at(y + 2), odd));
      }
      const float sum = flushed(flushed(word(unit.tile[c].row[m] + 4 * n)) + flushed(even + odd));
      std::memcpy(unit.tile[c].row[m] + 4 * n, &sum, sizeof sum);
    }
  products_done.fetch_add(1, std::memory_order_relaxed);
}

// General registers by their number in an instruction.
int64_t general(const ucontext_t& context, int number) {
  static constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                    REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[order[number]];
}

// The operand in memory: base + displacement, and the index, which is a tile's stride.
struct Memory {
  uint8_t* at;
  int64_t stride;
  int length;  // of ModRM, SIB and displacement
};

Memory memory_of(const ucontext_t& context, const uint8_t* modrm, bool x, bool b) {
  const int mode = modrm[0] >> 6, low = modrm[0] & 7;
  Memory m{nullptr, 0, 1};
  int base = low | b << 3;
  if (low == 4) {
    const uint8_t sib = modrm[m.length++];
    const int index = (sib >> 3 & 7) | x << 3;
    base = (sib & 7) | b << 3;
    if (index != 4) m.stride = general(context, index) << (sib >> 6);
  }
  if (mode == 0 && (base & 7) == 5) refuse();  // no base: the compiler has no reason for it
  int64_t shift = 0;
  if (mode == 1) {
    shift = static_cast<int8_t>(modrm[m.length]);
    m.length += 1;
  } else if (mode == 2) {
    int32_t wide;
    std::memcpy(&wide, modrm + m.length, sizeof wide);
    shift = wide;
    m.length += 4;
  }
  m.at = reinterpret_cast<uint8_t*>(general(context, base) + shift);
  return m;
}

// C4, then not-R not-X not-B and the map, then W, a register, L and a prefix: none, 66, F3 or F2.
void carry_out(int, siginfo_t*, void* state) {
  ucontext_t& context = *static_cast<ucontext_t*>(state);
  const auto* code = reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
  if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || (code[2] & 0x84) != 0) refuse();
  const bool x = !(code[1] & 0x40), b = !(code[1] & 0x20);
  const int prefix = code[2] & 3, op = code[3], other = ~(code[2] >> 3) & 15;
  const uint8_t* modrm = code + 4;
  const int reg = modrm[0] >> 3 & 7, rm = modrm[0] & 7;
  const bool in_memory = modrm[0] >> 6 != 3;
  const Memory m = in_memory ? memory_of(context, modrm, x, b) : Memory{nullptr, 0, 1};
  enum { none, p66, f3, f2 };
  if (op == 0x49 && prefix == none && in_memory)
    configure(m.at);
  else if (op == 0x49 && prefix == p66 && in_memory)
    std::memcpy(m.at, unit.configuration, sizeof unit.configuration);
  else if (!unit.configured())
    refuse();
  else if (op == 0x49 && prefix == f2 && !in_memory)
    std::memset(&unit.tile[reg], 0, sizeof(Tile));
  else if (op == 0x4B && prefix == f2 && in_memory)
    load(reg, m.at, m.stride);
  else if (op == 0x4B && prefix == f3 && in_memory)
    store(reg, m.at, m.stride);
  else if (op == 0x5C && prefix == f3 && !in_memory)
    multiply(reg, rm, other);
  else
    refuse();
  context.uc_mcontext.gregs[REG_RIP] += 4 + m.length;
}

}  // namespace

bool ImitatedTiles::possible() { return cpu::has_pair_products(); }

ImitatedTiles::ImitatedTiles() : real_(cpu::has_tiles()) {
  if (real_) return;
  struct sigaction now = {};
  now.sa_sigaction = carry_out;
  now.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &now, &before);
  products_done = 0;
  cpu::set_tiles(true);
}

ImitatedTiles::~ImitatedTiles() {
  if (real_) return;
  cpu::set_tiles(false);
  sigaction(SIGILL, &before, nullptr);
}

bool ImitatedTiles::used() const { return real_ || products_done > 0; }

#else

bool ImitatedTiles::possible() { return false; }
ImitatedTiles::ImitatedTiles() : real_(false) {}
ImitatedTiles::~ImitatedTiles() {}
bool ImitatedTiles::used() const { return false; }

#endif

}  // namespace rille::test
