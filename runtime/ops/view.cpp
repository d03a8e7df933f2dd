#include "ops/view.h"

#include "ops/cast.h"
#include "ops/families.h"
#include "ops/register.h"

namespace rille {

View Squeeze::view(const Args& a) {
  View v{{}, {}, a.x.offset()};
  const int only = a.dim ? axis(a.dim->value, a.x.rank()) : -1;
  for (int d = 0; d < a.x.rank(); ++d) {
    if (a.x.shape()[d] == 1 && (only < 0 || d == only)) continue;
    v.shape.push_back(a.x.shape()[d]);
    v.strides.push_back(a.x.strides()[d]);
  }
  return v;
}
Squeeze::Args Squeeze::grad(const Back<Squeeze>& b) { return {.x = reshape(b.dy, b.a.x.shape()), .dim = {}}; }
void Squeeze::samples(SampleList& s) {
  add_sample<Squeeze>(s, {.x = grid({1, 3, 1}, -1, 1), .dim = {}});
  add_sample<Squeeze>(s, {.x = grid({1, 3, 1}, -1, 1), .dim = Axis{-1}});
  add_sample<Squeeze>(s, {.x = grid({1, 0}, -1, 1), .dim = {}});
}

OpFamily family_view() { return list_ops(OpList<Squeeze>{}, "view"); }

}  // namespace rille
