#include "ops/checks.h"

#include "core/budget.h"
#include "core/fail.h"

namespace rille {

void must_be_float(DType d, std::string_view what) {
  if (!is_float(d)) throw dtype_error("'{}' must be a float dtype, got {}", what, name(d)).of(what);
}

void must_be_float(const Tensor& t, std::string_view what) {
  if (!t.is_float())
    throw dtype_error("'{}' must be a float tensor, got {}", what, name(t.dtype()))
        .of(what)
        .hint("x:to 'f32'");
}

void must_be_numbers(const Tensor& t, std::string_view what) {
  if (t.dtype() == DType::boolean) throw dtype_error("needs numbers, got bool").of(what);
}

void must_have_dtype(const Tensor& t, DType dtype, std::string_view what) {
  if (t.dtype() != dtype)
    throw dtype_error("'{}' must be {}, got {}", what, name(dtype), name(t.dtype())).of(what);
}

void must_have_shape(const Tensor& t, const Shape& shape, std::string_view what) {
  if (t.shape() != shape)
    throw shape_error("'{}' must have shape {}, got {}", what, to_string(shape),
                      to_string(t.shape()))
        .of(what);
}

void must_have_dims(const Tensor& t, int least, int most, std::string_view what) {
  if (t.rank() < least || t.rank() > most)
    throw shape_error("'{}' must have {} dims{}, got shape {}", what, least,
                      most == least      ? std::string()
                      : most == kMaxRank ? " or more"
                                         : fmt::format(" to {}", most),
                      to_string(t.shape()))
        .of(what);
}

void must_be_within(int64_t n, int64_t least, int64_t most, std::string_view what) {
  if (n < least) throw arg_error("'{}' must be at least {}, got {}", what, least, n);
  if (n > most) throw arg_error("'{}' must be at most {}, got {}", what, most, n);
}

void must_have_numbers(const Dims& list, int n, int64_t least, int64_t most,
                       std::string_view what) {
  if (list.size() != n) throw arg_error("'{}' takes {} numbers, got {}", what, n, list.size());
  for (const int64_t v : list) must_be_within(v, least, most, what);
}

void must_hold_ids(const Tensor& ids, int64_t low, int64_t end, std::string_view what) {
  const int64_t* p = ids.data_as<int64_t>();
  bool good = true;
  polled(ids.numel(), [&](int64_t i, int64_t last) {
    for (; i < last; ++i) good &= p[i] >= low && p[i] < end;
  });
  for (int64_t i = 0; !good && i < ids.numel(); ++i)
    if (p[i] < low || p[i] >= end)
      throw index_error("id {} at position {} of '{}' is not from {} to {}", p[i], i + 1, what, low,
                        end - 1)
          .of(what)
          .hint("ids count from 0");
}

}  // namespace rille
