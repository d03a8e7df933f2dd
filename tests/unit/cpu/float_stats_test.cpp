// Counts of values by kind and power of two, against a loop that casts each value and looks at it.
#include "cpu/float_stats.h"

#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;

namespace {

// Values whose bits are random: all exponents, subnormals, infinities and nan.
Buffer random_bits(DType d, int64_t n, uint64_t seed) {
  Buffer x(d, n);
  uint64_t state = seed;
  for (char& byte : x.bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return x;
}

struct Seen {
  int64_t flush = 0, underflow = 0, overflow = 0;
};

Seen seen_in(DType to, double smallest_normal, const Values& x, DType from, const Buffer& raw) {
  Buffer y(to, static_cast<int64_t>(x.size()));
  cpu::convert(from, raw.data(), to, y.bytes.data(), static_cast<int64_t>(x.size()));
  const Values rounded = y.values();
  Seen s;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0 || !std::isfinite(x[i])) continue;
    s.flush += rounded[i] == 0;
    s.underflow += std::fabs(rounded[i]) < smallest_normal;
    s.overflow += std::isinf(rounded[i]);
  }
  return s;
}

void check_losses(const cpu::FloatStats& got, size_t format, const Seen& want) {
  CHECK(got.losses[format].flush == want.flush);
  CHECK(got.losses[format].underflow == want.underflow);
  CHECK(got.losses[format].overflow == want.overflow);
}

}  // namespace

TEST_CASE("float_stats counts what a cast loses", "[cpu]") {
  const DType d = GENERATE(DType::f64, DType::f32, DType::f16, DType::bf16);
  const int64_t n = GENERATE(0, 1, 1023, 200000);
  CAPTURE(name(d), n);
  const Buffer raw = random_bits(d, n, 7);
  const Values x = raw.values();
  const cpu::FloatStats s = cpu::float_stats(d, raw.data(), n, d);

  int64_t zeros = 0, subnormals = 0, infinities = 0, nans = 0;
  double smallest = HUGE_VAL, largest = 0;
  std::vector<int64_t> exponents(s.exponents.size());
  for (const double v : x) {
    const double size = std::fabs(v);
    zeros += size == 0;
    nans += std::isnan(v);
    infinities += std::isinf(v);
    if (size == 0 || !std::isfinite(v)) continue;
    subnormals += size < float_info(d).smallest_normal;
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
    ++exponents[static_cast<size_t>(std::ilogb(v) - cpu::FloatStats::kLowest)];
  }
  CHECK(s.numel == n);
  CHECK(s.zeros == zeros);
  CHECK(s.subnormals == subnormals);
  CHECK(s.infinities == infinities);
  CHECK(s.nans == nans);
  CHECK(s.largest == largest);
  CHECK(s.smallest == (largest == 0 ? 0 : smallest));
  CHECK(std::equal(exponents.begin(), exponents.end(), s.exponents.begin()));
  check_losses(s, 0, seen_in(DType::f16, 0x1p-14, x, d, raw));
  check_losses(s, 1, seen_in(DType::bf16, 0x1p-126, x, d, raw));
}

TEST_CASE("float_stats gives the same with any number of threads", "[cpu]") {
  const int64_t n = 500000;
  const Buffer raw = random_bits(DType::f32, n, 11);
  const int before = threads();
  set_threads(1);
  const cpu::FloatStats one = cpu::float_stats(DType::f32, raw.data(), n, DType::f32);
  set_threads(4);
  const cpu::FloatStats four = cpu::float_stats(DType::f32, raw.data(), n, DType::f32);
  set_threads(before);
  CHECK(one.exponents == four.exponents);
  CHECK(one.nans == four.nans);
  CHECK(one.smallest == four.smallest);
  for (size_t k = 0; k < one.losses.size(); ++k)
    CHECK(one.losses[k].underflow == four.losses[k].underflow);
}
