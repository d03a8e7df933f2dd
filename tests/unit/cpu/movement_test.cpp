// Strided copies against a walk over every index.
#include "cpu/movement.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "core/threads.h"

using namespace rille;

namespace {

Tensor counted(const Shape& shape, DType d) {
  const Tensor t = Tensor::empty(shape, d);
  auto* p = t.data_as<unsigned char>();
  for (int64_t i = 0; i < t.nbytes(); ++i)
    p[i] = static_cast<unsigned char>((i * 2654435761) >> 11);  // no short period
  return t;
}

// The tensor with two dims exchanged.
Tensor exchanged(const Tensor& t, int a, int b) {
  Shape shape = t.shape();
  Strides strides = t.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return t.alias(shape, strides, t.offset());
}

bool same_elements(const Tensor& a, const Tensor& b) {
  const auto size = static_cast<int64_t>(size_of(a.dtype()));
  cpu::Walk<2> walk(a.shape(), {&a.strides(), &b.strides()});
  for (int64_t i = 0; i < a.numel(); ++i, walk.next())
    if (std::memcmp(a.data_as<char>() + walk.offset[0] * size,
                    b.data_as<char>() + walk.offset[1] * size, static_cast<size_t>(size)) != 0)
      return false;
  return true;
}

void check_turned(const Shape& shape, DType d, int a, int b) {
  const Tensor x = exchanged(counted(shape, d), a, b);
  const Tensor y = Tensor::empty(x.shape(), d);
  cpu::copy_strided(y, x);
  CAPTURE(to_string(shape), name(d), a, b, threads());
  REQUIRE(same_elements(y, x));
}

}  // namespace

TEST_CASE("movement: rows into columns, any size, dtype and number of threads", "[cpu]") {
  const int before = threads();
  for (const int n : {1, 2, 4}) {
    set_threads(n);
    for (const DType d : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
      for (const int64_t rows : {1, 2, 15, 16, 17, 63, 64, 65, 130})
        for (const int64_t cols : {1, 3, 8, 16, 31, 33, 64, 100})
          check_turned({rows, cols}, d, 0, 1);
      check_turned({3, 70, 5, 33}, d, 1, 3);
      check_turned({3, 70, 5, 33}, d, 0, 3);
      check_turned({3, 70, 5, 33}, d, 2, 3);
    }
  }
  set_threads(before);
}

TEST_CASE("movement: rows into columns past the caches", "[cpu]") {
  const int before = threads();
  for (const int n : {1, 2}) {
    set_threads(n);
    check_turned({3000, 3200}, DType::f32, 0, 1);  // rows of whole lines
    check_turned({3001, 2999}, DType::f32, 0, 1);
    check_turned({2056, 2072}, DType::f64, 0, 1);
  }
  set_threads(before);
}

TEST_CASE("movement: into a part of a larger tensor, and from one", "[cpu]") {
  const Tensor x = counted({200, 100}, DType::f32), room = counted({120, 210}, DType::f32);
  const Tensor y = room.alias({97, 190}, room.strides(), 210 * 3 + 5);
  const Tensor part = exchanged(x.alias({190, 97}, x.strides(), 100 * 2 + 1), 0, 1);
  const Tensor old = Tensor::empty(room.shape(), room.dtype());
  cpu::copy_strided(old, room);
  cpu::copy_strided(y, part);
  CHECK(same_elements(y, part));
  int64_t changed_outside = 0;
  for (int64_t i = 0; i < 120; ++i)
    for (int64_t j = 0; j < 210; ++j)
      if (i < 3 || i >= 100 || j < 5 || j >= 195)
        changed_outside +=
            room.data_as<uint32_t>()[i * 210 + j] != old.data_as<uint32_t>()[i * 210 + j];
  CHECK(changed_outside == 0);
}
