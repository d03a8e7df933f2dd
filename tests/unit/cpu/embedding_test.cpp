#include "cpu/rows.h"
#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("take_rows picks rows of any size", "[rows]") {
  const int32_t table[] = {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};  // [2, 3, 2]
  const int64_t ids[] = {2, 0, 2, 1};
  int32_t out[16];
  CHECK(cpu::take_rows({2, 3, 4, ids}, 8, table, out) == -1);
  const int32_t want[] = {20, 21, 0, 1, 20, 21, 10, 11, 120, 121, 100, 101, 120, 121, 110, 111};
  CHECK(std::equal(out, out + 16, want));
  const int64_t bad[] = {1, 3, -1};
  CHECK(cpu::take_rows({1, 3, 3, bad}, 8, table, out) == 1);
  const int64_t negative[] = {-1};
  CHECK(cpu::take_rows({1, 3, 1, negative}, 8, table, out) == 0);
  CHECK(cpu::take_rows({1, 0, 0, nullptr}, 8, table, out) == -1);
}

TEST_CASE("add_rows sums the rows of each id", "[rows]") {
  const int64_t rows = 7, count = 40, width = 100, outer = 2;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back((i * i) % 6);  // 5 and 2 miss, 6 too
  const cpu::Lookup args{outer, rows, count, ids.data()};
  for (const DType d : kFloats) {
    const Buffer dy(d, spread(outer * count * width, 1));
    const Values x = dy.values(), before = Buffer(d, spread(outer * rows * width, 2)).values();
    for (const bool accumulate : {false, true})
      for (const int64_t skip : {int64_t{-1}, int64_t{4}}) {
        Values want(static_cast<size_t>(outer * rows * width), 0);
        if (accumulate) want = before;
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < count; ++i)
            for (int64_t j = 0; j < width && ids[static_cast<size_t>(i)] != skip; ++j)
              want[static_cast<size_t>((o * rows + ids[static_cast<size_t>(i)]) * width + j)] +=
                  x[static_cast<size_t>((o * count + i) * width + j)];
        Buffer table(d, before);
        CHECK(cpu::add_rows(d, args, width, dy.data(), table.data(), accumulate, skip) == -1);
        require_close(table.values(), want, tolerance(d));
      }
  }
}

TEST_CASE("add_rows checks ids, and gives the same bits for any number of threads", "[rows]") {
  std::vector<int64_t> ids(3000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * i % 65);
  const Buffer dy(DType::f32, spread(3000 * 128, 3));
  require_same_bits([&] {
    Buffer table(DType::f32, 65 * 128);
    cpu::add_rows(DType::f32, {1, 65, 3000, ids.data()}, 128, dy.data(), table.data());
    return table.bytes;
  });
  Buffer table(DType::f32, 65 * 128);
  ids[17] = 65;
  CHECK(cpu::add_rows(DType::f32, {1, 65, 3000, ids.data()}, 128, dy.data(), table.data()) == 17);
}
