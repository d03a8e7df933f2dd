// t[...] on both sides of the equals sign: positions from 1, ranges with both ends, masks, ids.
// Positions and ranges together make one view; ids and masks are applied to it.
#include "ops/index.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/diagnose.h"
#include "ops/cast.h"
#include "ops/scatter.h"
#include "ops/strided.h"

namespace rille::bind {
namespace {

// What an index says, in the op's own arguments: filled where it lies and copied nowhere.
struct Look {
  explicit Look(Tensor t) : view{.x = std::move(t)}, offset(view.x.offset()) {}

  AsStrided::Args view;
  int64_t offset;
  std::vector<Tensor> ids;  // masks and ids, by ...
  Axes id_dims;             // ... the dim of the look that they apply to
};

int64_t position(int64_t p, int64_t size, int dim) {
  if (p == 0)
    throw index_error("position 0 in dim {}, but positions count from 1 (or -1 from the end)",
                      dim + 1);
  const int64_t at = p > 0 ? p - 1 : size + p;
  if (at < 0 || at >= size)
    throw index_error("position {} is out of range for dim {} of size {}", p, dim + 1, size);
  return at;
}

// A value in an index that is none, in words.
std::string shown(const Value& v) {
  if (const double* d = v.get<double>()) return fmt::format("{:g}", *d);
  if (const std::string* s = v.get<std::string>()) return fmt::format("string '{}'", *s);
  if (const bool* b = v.get<bool>()) return *b ? "true" : "false";
  if (v.is_nil()) return "nil";
  return v.table() ? "a table" : "something else";
}

int64_t integer(const Value& v, std::string_view what) {
  if (const int64_t* n = v.get<int64_t>()) return *n;
  if (const double* d = v.get<double>(); d && *d == static_cast<double>(static_cast<int64_t>(*d)))
    return static_cast<int64_t>(*d);
  throw type_error("{} must be an integer, got {}", what, shown(v));
}

class Builder {
 public:
  explicit Builder(Look& look) : look_(look), t_(look.view.x) {}

  void one(const Value& v) {
    if (v.get<Tensor>()) return tensor(*v.get<Tensor>());
    const Table* range = v.table();
    need_dim();
    one(range ? term_of(*range)
              : lua::IndexTerm{lua::IndexTerm::Kind::position, integer(v, "a position")});
  }
  void one(const lua::IndexTerm& term) {
    need_dim();
    switch (term.kind) {
      case lua::IndexTerm::Kind::all: return keep();
      case lua::IndexTerm::Kind::range: return range(term);
      case lua::IndexTerm::Kind::position: break;
    }
    look_.offset += position(term.first, t_.shape()[dim_], dim_) * t_.strides()[dim_];
    ++dim_;
  }

  void finish() {
    while (dim_ < t_.rank()) keep();
  }

 private:
  static lua::IndexTerm term_of(const Table& range) {
    const auto& r = range.list;
    if (!range.named.empty() || r.size() == 1 || r.size() > 3)
      throw type_error("a range is {{first, last}} or {{first, last, step}}, or {{}} for all");
    if (r.empty()) return {};
    const int64_t step = r.size() == 3 ? integer(r[2], "a range's step") : 1;
    const int64_t first = integer(r[0], "a range's first position");
    return {lua::IndexTerm::Kind::range, first, integer(r[1], "a range's last position"), step};
  }

  void need_dim() {
    if (dim_ >= t_.rank())
      throw index_error("{} positions for a tensor of {} dim{}", dim_ + 1, t_.rank(),
                        t_.rank() == 1 ? "" : "s");
  }
  void keep() {
    look_.view.size.list.push_back(t_.shape()[dim_]);
    look_.view.strides.list.push_back(t_.strides()[dim_]);
    ++dim_;
  }

  // A mask of several dims covers as many; ids cover one.
  void tensor(const Tensor& i) {
    const bool mask = i.dtype() == DType::boolean;
    if (!mask && category(i.dtype()) == Category::floating)
      throw dtype_error("a tensor index must hold integers (ids from 0) or booleans, got {}",
                        name(i.dtype()));
    look_.ids.push_back(i);
    look_.id_dims.all = false;
    look_.id_dims.list.push_back(look_.view.size.list.size());
    const int covered = mask ? std::max(i.rank(), 1) : 1;
    for (int k = 0; k < covered; ++k) {
      need_dim();
      keep();
    }
  }

  void range(const lua::IndexTerm& r) {
    const int64_t size = t_.shape()[dim_], stride = t_.strides()[dim_];
    if (r.step < 1)
      throw arg_error("a range's step must be at least 1, got {}", r.step)
          .hint("use flip to turn a dim round");
    const int64_t from = position(r.first, size, dim_);
    // {3, 2} is empty, as Lua's for would be.
    const int64_t to = r.last > 0 || r.last < -size ? std::min(r.last, size) : size + r.last + 1;
    const int64_t step =
        std::min(r.step, std::max<int64_t>(size, 1));  // a longer one meets no more
    look_.offset += from * stride;
    look_.view.size.list.push_back(std::max<int64_t>(0, (to - from + step - 1) / step));
    look_.view.strides.list.push_back(stride * step);
    ++dim_;
  }

  Look& look_;
  const Tensor& t_;
  int dim_ = 0;
};

std::vector<std::string_view> members() {
  std::vector<std::string_view> known = {"dtype", "device", "requires_grad", "grad",   "is_leaf",
                                         "size",  "shape",  "dim",           "numel",  "item",
                                         "to",    "tolist", "backward",      "detach", "layout"};
  for (const OpInfo* op : public_ops())
    if (op->method) known.push_back(op->name);
  return known;
}

[[noreturn]] void no_such_member(const std::string& name) {
  const std::vector<std::string_view> known = members();
  const std::string near = lua::nearest(name, known);
  throw arg_error("a tensor has no field or method '{}'{}", name,
                  near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .op("");
}

// t.dtype = "f64": only grad and requires_grad are assigned.
[[noreturn]] void refuse_set(Call& c, const std::string& name) {
  const std::vector<std::string_view> known = members();
  if (std::find(known.begin(), known.end(), name) == known.end()) no_such_member(name);
  Error e = arg_error("'{}' of a tensor can't be set", name);
  if ((name == "dtype" || name == "device") && c.is_string(3))
    e.hint(fmt::format("t:to \"{}\" gives a copy of that {}", c.string(3, "value"), name));
  throw e;
}

void read_look(Call& c, Look& look) {
  Builder b(look);
  if (lua::IndexTerms terms; c.plain_index(2, terms)) {
    for (const lua::IndexTerm& one : terms) b.one(one);
    return b.finish();
  }
  if (c.is_string(2)) no_such_member(c.string(2, "name"));
  const Value v = c.value(2);
  if (const Table* list = v.table()) {
    if (!list->named.empty()) throw type_error("an index is a list: positions, ranges, masks, ids");
    for (const Value& one : list->list) b.one(one);
  } else {
    b.one(v);
  }
  b.finish();
}

Tensor view_of(Look& look) {
  const Tensor& t = look.view.x;
  if (look.offset == t.offset() && look.view.size.list == t.shape()) return t;
  // One element of a packed tensor shares its byte: what is read is a copy.
  if (t.is_packed() && look.view.size.list.empty()) return clone(t.alias({}, {}, look.offset));
  // Here already, so that the error is the index's.
  if (t.is_packed()) check_packed_view(t, look.view.size.list, look.view.strides.list, look.offset);
  look.view.offset = look.offset;
  return call<AsStrided>(look.view);
}

// The place that is written to. Packed elements are written one by one: unlike a view, it may begin
// and end inside a byte.
Tensor place_of(Look& look) {
  const AsStrided::Args& v = look.view;
  return v.x.is_packed() ? v.x.alias(v.size.list, v.strides.list, look.offset) : view_of(look);
}

}  // namespace

Tensor tensor_get_index(Call& c) {
  Look look(c.tensor(1, "self"));
  read_look(c, look);
  Tensor v = view_of(look);
  if (look.ids.empty()) return v;
  return call<Index>({.x = v, .indices = look.ids, .dims = look.id_dims});
}

void tensor_set_index(Call& c) {
  if (c.is_string(2)) refuse_set(c, c.string(2, "name"));
  Look look(c.tensor(1, "self"));
  read_look(c, look);
  Tensor source;
  if (c.is_tensor(3))
    source = c.tensor(3, "value");
  else if (c.is_number(3))
    source = Tensor::number(c.number(3, "value"));
  else if (const Value v = c.value(3); v.get<bool>())
    source = cast(Tensor::number(int64_t{*v.get<bool>()}), DType::boolean);
  else
    c.wrong(3, "value", "a tensor or a number");
  const Tensor v = place_of(look);
  if (look.ids.empty()) return copy_(v, source);
  call_<IndexPut>(
      {.x = v, .indices = look.ids, .source = source, .accumulate = false, .dims = look.id_dims});
}

}  // namespace rille::bind
