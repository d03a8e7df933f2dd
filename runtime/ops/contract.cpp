#include "ops/contract.h"

#include <array>

#include "core/fail.h"
#include "core/sizes.h"
#include "ops/families.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

// ---- einsum: reading the equation
// ----------------------------------------------------------------

// Dims are known by label: letters, and numbers past them for the dims of '...', counted from the
// last of these.
using Label = int;
constexpr Label kLetters = 52;
constexpr Label kLabels = kLetters + kMaxRank;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = -1;

bool has(const Labels& list, Label l) {
  return std::find(list.begin(), list.end(), l) != list.end();
}

Labels read_term(std::string_view term) {
  Labels out;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (c >= 'A' && c <= 'Z') {
      out.push_back(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      out.push_back(c - 'a' + 26);
    } else if (term.substr(i, 3) == "...") {
      if (has(out, kEllipsis)) throw arg_error("'...' stands twice in '{}'", term);
      out.push_back(kEllipsis);
      i += 2;
    } else {
      throw arg_error("'{}' is neither a letter nor '...'", c).hint("such as 'bij,bjk->bik'");
    }
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(by, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

struct Equation {
  std::vector<Labels> terms;
  Labels result;
  int broadcast = 0;  // dims that '...' stands for in the result
};

Labels with_dots(const Labels& term, int dots) {
  Labels out;
  for (const Label l : term) {
    if (l != kEllipsis)
      out.push_back(l);
    else
      for (int d = dots; d-- > 0;) out.push_back(kLetters + d);
  }
  return out;
}

// The result that is meant where there is no '->': '...', then letters that occur once.
Labels implied_result(const std::vector<Labels>& terms, bool dots) {
  std::array<int, kLetters> seen{};
  for (const Labels& t : terms)
    for (const Label l : t)
      if (l >= 0 && l < kLetters) ++seen[static_cast<size_t>(l)];
  Labels out;
  if (dots) out.push_back(kEllipsis);
  for (Label l = 0; l < kLetters; ++l)
    if (seen[static_cast<size_t>(l)] == 1) out.push_back(l);
  return out;
}

void check_result(const Equation& e) {
  for (size_t i = 0; i < e.result.size(); ++i) {
    const Label l = e.result[i];
    if (l >= kLetters) continue;
    const char c = static_cast<char>(l < 26 ? 'A' + l : 'a' + l - 26);
    if (std::find(e.result.begin(), e.result.begin() + static_cast<std::ptrdiff_t>(i), l) !=
        e.result.begin() + static_cast<std::ptrdiff_t>(i))
      throw arg_error("the result names '{}' twice", c);
    bool known = false;
    for (const Labels& t : e.terms) known |= has(t, l);
    if (!known) throw arg_error("the result names '{}', which no term has", c);
  }
}

Equation read_equation(std::string_view text, const std::vector<Tensor>& tensors) {
  const size_t arrow = text.find("->");
  const auto parts = split(text.substr(0, arrow), ',');
  if (parts.size() != tensors.size())
    throw arg_error("the equation has {} terms, {} tensors are given", parts.size(),
                    tensors.size());
  Equation e;
  bool dots = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    Labels term = read_term(parts[i]);
    const bool open = has(term, kEllipsis);
    const int left = tensors[i].rank() - static_cast<int>(term.size()) + open;
    if (left < 0 || (left > 0 && !open))
      throw shape_error("term '{}' does not fit shape {}", parts[i], to_string(tensors[i].shape()))
          .of("");
    dots |= open;
    e.broadcast = std::max(e.broadcast, left);
    e.terms.push_back(std::move(term));
  }
  Labels result = arrow == std::string_view::npos ? implied_result(e.terms, dots)
                                                  : read_term(text.substr(arrow + 2));
  if (has(result, kEllipsis) && !dots) throw arg_error("the result has '...', but no term has");
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const int open = has(e.terms[i], kEllipsis);
    e.terms[i] =
        with_dots(e.terms[i], tensors[i].rank() - static_cast<int>(e.terms[i].size()) + open);
  }
  e.result = with_dots(result, e.broadcast);
  check_result(e);
  return e;
}

// ---- einsum: the sum
// -----------------------------------------------------------------------------

using SizesByLabel = std::array<int64_t, kLabels>;

struct Term {
  Tensor t;
  Labels labels;  // one a dim, each once
};

Dims dims_of(const Labels& labels, const Labels& wanted) {
  Dims out;
  for (const Label l : wanted)
    out.push_back(std::find(labels.begin(), labels.end(), l) - labels.begin());
  return out;
}

// Letters that stand twice become a diagonal.
Term without_repeats(Term x) {
  for (size_t i = 0; i < x.labels.size(); ++i)
    for (size_t j = i + 1; j < x.labels.size(); ++j) {
      if (x.labels[i] != x.labels[j]) continue;
      const auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(j);
      if (x.t.size(a) != x.t.size(b))
        throw shape_error("a letter that stands twice has sizes {} and {}", x.t.size(a),
                          x.t.size(b))
            .of("");
      x.t = call<Diagonal>({.x = x.t, .dim1 = {a}, .dim2 = {b}});
      const Label l = x.labels[i];
      x.labels.erase(x.labels.begin() + static_cast<std::ptrdiff_t>(j));
      x.labels.erase(x.labels.begin() + static_cast<std::ptrdiff_t>(i));
      x.labels.push_back(l);
      return without_repeats(std::move(x));
    }
  return x;
}

SizesByLabel sizes_of(const std::vector<Term>& terms) {
  SizesByLabel size;
  size.fill(1);
  for (const Term& x : terms)
    for (size_t d = 0; d < x.labels.size(); ++d) {
      int64_t& known = size[static_cast<size_t>(x.labels[d])];
      const int64_t n = x.t.size(static_cast<int64_t>(d));
      if (n == 1 || n == known) continue;
      if (known != 1) throw shape_error("one letter has sizes {} and {}", known, n).of("");
      known = n;
    }
  return size;
}

// A dim of size 1 where others have more says nothing: it goes.
void drop_broadcast(Term& x, const SizesByLabel& size) {
  for (size_t d = x.labels.size(); d-- > 0;) {
    if (x.t.size(static_cast<int64_t>(d)) == size[static_cast<size_t>(x.labels[d])]) continue;
    x.t = squeeze(x.t, static_cast<int64_t>(d));
    x.labels.erase(x.labels.begin() + static_cast<std::ptrdiff_t>(d));
  }
}

// Sums over the dims that nobody needs any more.
void sum_unneeded(Term& x, const Labels& needed) {
  Labels kept, gone;
  for (const Label l : x.labels) (has(needed, l) ? kept : gone).push_back(l);
  if (gone.empty()) return;
  x.t = call<Sum>({.x = x.t, .dims = Axes(dims_of(x.labels, gone)), .dtype = x.t.dtype()});
  x.labels = kept;
}

Labels joined(std::initializer_list<const Labels*> lists) {
  Labels out;
  for (const Labels* list : lists) out.insert(out.end(), list->begin(), list->end());
  return out;
}

// x with its dims in three groups, as a batch of matrices.
Tensor as_matrices(const Term& x, const Labels& batch, const Labels& rows, const Labels& cols,
                   const SizesByLabel& size) {
  Shape s;
  for (const Labels* group : {&batch, &rows, &cols}) {
    Checked n(1);
    for (const Label l : *group) n *= size[static_cast<size_t>(l)];
    s.push_back(n);
  }
  return reshape(permute(x.t, dims_of(x.labels, joined({&batch, &rows, &cols}))), s);
}

// The product of two terms, summed over what is in both and not needed.
Term product(Term x, Term y, const Labels& needed, const SizesByLabel& size) {
  sum_unneeded(x, joined({&needed, &y.labels}));
  sum_unneeded(y, joined({&needed, &x.labels}));
  Labels batch, rows, cols, summed;
  for (const Label l : x.labels)
    (!has(y.labels, l) ? rows : has(needed, l) ? batch : summed).push_back(l);
  for (const Label l : y.labels)
    if (!has(x.labels, l)) cols.push_back(l);
  const Tensor xy =
      matmul(as_matrices(x, batch, rows, summed, size), as_matrices(y, batch, summed, cols, size));
  Term out{xy, joined({&batch, &rows, &cols})};
  Shape s;
  for (const Label l : out.labels) s.push_back(size[static_cast<size_t>(l)]);
  out.t = reshape(xy, s);
  return out;
}

}  // namespace

Tensor Einsum::compose(const Args& a) {
  if (a.tensors.empty()) throw arg_error("needs at least one tensor");
  const Equation e = read_equation(a.equation, a.tensors);
  std::vector<Term> terms;
  for (size_t i = 0; i < a.tensors.size(); ++i)
    terms.push_back(without_repeats({a.tensors[i], e.terms[i]}));
  const SizesByLabel size = sizes_of(terms);
  for (Term& x : terms) drop_broadcast(x, size);
  Term all = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels needed = e.result;
    for (size_t j = i + 1; j < terms.size(); ++j)
      needed.insert(needed.end(), terms[j].labels.begin(), terms[j].labels.end());
    all = product(std::move(all), terms[i], needed, size);
  }
  sum_unneeded(all, e.result);
  return permute(all.t, dims_of(all.labels, e.result));
}
void Einsum::samples(SampleList& s) {
  auto add = [&](std::string text, std::vector<Tensor> t) {
    add_sample<Einsum>(s, {.equation = std::move(text), .tensors = std::move(t)});
  };
  add("ij,jk->ik", {grid({2, 3}, -1, 1), grid({3, 2}, -1, 2)});
  add("bij, bkj -> bik", {strided(grid({2, 2, 3}, -1, 1)), grid({2, 3, 3}, -1, 2)});
  add("ii->i", {grid({3, 3}, -1, 1)});
  add("ii", {grid({3, 3}, -1, 1)});
  add("ba", {grid({2, 3}, -1, 1)});
  add("i,j->ij", {grid({2}, -1, 1), grid({3}, -1, 2)});
  add("...ij,...jk", {grid({2, 1, 2, 2}, -1, 1), grid({3, 2, 2}, -1, 2)});
  add("i...,...->...", {grid({2, 3}, -1, 1), grid({3}, -1, 2)});
  add("ijk,jl,kl->il", {grid({2, 2, 3}, -1, 1), grid({2, 2}, -1, 2), grid({3, 2}, 0, 1)});
  add("ij,ij->", {grid({2, 1}, -1, 1), grid({2, 3}, -1, 2)});
  add("ij,k->j", {grid({2, 3}, -1, 1), grid({2}, -1, 2)});
}

Tensor einsum(std::string equation, std::vector<Tensor> tensors) {
  return call<Einsum>({.equation = std::move(equation), .tensors = std::move(tensors)});
}

// ---- others
// --------------------------------------------------------------------------------------

// out = sum over m of x[m] (weight[out, m, :] . y): one product for the weight, one for x.
Tensor Bilinear::compose(const Args& a) {
  if (a.weight.rank() != 3)
    throw shape_error("needs weights [out, m, n], got shape {}", to_string(a.weight.shape()))
        .of("weight");
  if (a.x.rank() == 0 || a.y.rank() != a.x.rank())
    throw shape_error("x and y must have the same dims but the last").of("x", "y");
  for (int d = 0; d + 1 < a.x.rank(); ++d)
    if (a.x.size(d) != a.y.size(d))
      throw shape_error("dim {} differs: {} and {}", d + 1, a.x.size(d), a.y.size(d)).of("x", "y");
  const int64_t out = a.weight.size(0), m = a.weight.size(1), n = a.weight.size(2);
  if (a.x.size(-1) != m)
    throw shape_error("inner sizes differ: {} and {}", a.x.size(-1), m).of("x", "weight");
  if (a.y.size(-1) != n)
    throw shape_error("inner sizes differ: {} and {}", a.y.size(-1), n).of("y", "weight");
  Shape shape(a.x.shape().begin(), a.x.shape().end() - 1);
  const int64_t rows = checked_numel(shape);
  const Tensor w = reshape(a.weight, {Checked(out) * m, n});
  const Tensor wy = reshape(matmul(reshape(a.y, {rows, n}), transpose(w)), {rows, out, m});
  shape.push_back(out);
  const Tensor z = reshape(matmul(wy, reshape(a.x, {rows, m, 1})), shape);
  return a.bias ? z + *a.bias : z;
}
void Bilinear::samples(SampleList& s) {
  add_sample<Bilinear>(s, {.x = grid({2, 2}, -1, 1),
                           .y = grid({2, 3}, -1, 2),
                           .weight = grid({2, 2, 3}, 0, 1),
                           .bias = grid({2}, 0, 1)});
  add_sample<Bilinear>(
      s, {.x = grid({2}, -1, 1), .y = grid({3}, -1, 2), .weight = grid({1, 2, 3}, 0, 1)});
}

namespace {

// The dims that meet, and after (x) or before (y) them the others.
Dims order_of(int rank, const Dims& meeting, bool last) {
  Dims rest;
  for (int d = 0; d < rank; ++d)
    if (std::find(meeting.begin(), meeting.end(), d) == meeting.end()) rest.push_back(d);
  Dims order = last ? rest : meeting;
  for (const int64_t d : last ? meeting : rest) order.push_back(d);
  return order;
}

Dims normal_dims(const Axes& dims, int rank) {
  Dims out;
  for (const int64_t d : dims.list) {
    const int n = axis(d, rank);
    if (std::find(out.begin(), out.end(), n) != out.end())
      throw arg_error("dim {} is named twice", n + 1);
    out.push_back(n);
  }
  return out;
}

// x and y over the dims named, which meet in this order.
Tensor contracted(const Tensor& x, const Tensor& y, const Dims& x_dims, const Dims& y_dims) {
  Checked inner(1);
  for (int i = 0; i < x_dims.size(); ++i) {
    const int64_t n = x.size(x_dims[i]), m = y.size(y_dims[i]);
    if (n != m) throw shape_error("inner sizes differ: {} and {}", n, m).of("x", "y");
    inner *= n;
  }
  const Tensor a = permute(x, order_of(x.rank(), x_dims, true)),
               b = permute(y, order_of(y.rank(), y_dims, false));
  Shape rows(a.shape().begin(), a.shape().end() - x_dims.size());
  const Shape cols(b.shape().begin() + y_dims.size(), b.shape().end());
  const Tensor z =
      matmul(reshape(a, {checked_numel(rows), inner}), reshape(b, {inner, checked_numel(cols)}));
  for (const int64_t n : cols) rows.push_back(n);
  return reshape(z, rows);
}

}  // namespace

Tensor Tensordot::compose(const Args& a) {
  if (a.x_dims.all != a.y_dims.all) throw arg_error("'x_dims' and 'y_dims' go together");
  Dims x, y;
  if (!a.x_dims.all) {
    x = normal_dims(a.x_dims, a.x.rank()), y = normal_dims(a.y_dims, a.y.rank());
    if (x.size() != y.size())
      throw arg_error("{} dims of x can't meet {} of y", x.size(), y.size());
  } else {
    if (a.dims < 0 || a.dims > std::min(a.x.rank(), a.y.rank()))
      throw arg_error("'dims' must be from 0 to {}, got {}", std::min(a.x.rank(), a.y.rank()),
                      a.dims);
    for (int64_t d = 0; d < a.dims; ++d) x.push_back(a.x.rank() - a.dims + d), y.push_back(d);
  }
  // A dim of size 1 meets each element of the other: the sum of them.
  const auto summed = [](const Tensor& t, int64_t dim) {
    return call<Sum>({.x = t, .dims = {dim}, .keepdim = true, .dtype = t.dtype()});
  };
  Tensor left = a.x, right = a.y;
  for (int i = 0; i < x.size(); ++i) {
    const int64_t n = left.size(x[i]), m = right.size(y[i]);
    if (n == 1 && m != 1) right = summed(right, y[i]);
    if (m == 1 && n != 1) left = summed(left, x[i]);
  }
  return contracted(left, right, x, y);
}
void Tensordot::samples(SampleList& s) {
  add_sample<Tensordot>(
      s, {.x = grid({1, 3}, -1, 1), .y = grid({2, 2}, -1, 2), .x_dims = {0}, .y_dims = {1}});
  add_sample<Tensordot>(s, {.x = grid({2, 3, 2}, -1, 1), .y = grid({3, 2, 2}, -1, 2)});
  add_sample<Tensordot>(s, {.x = grid({2, 3}, -1, 1), .y = grid({3, 2}, -1, 2), .dims = 1});
  add_sample<Tensordot>(s, {.x = grid({2}, -1, 1), .y = grid({3}, -1, 2), .dims = 0});
  add_sample<Tensordot>(
      s,
      {.x = grid({2, 3, 4}, -1, 1), .y = grid({4, 2}, -1, 2), .x_dims = {0, -1}, .y_dims = {1, 0}});
}

Tensor Inner::compose(const Args& a) {
  if (a.x.rank() == 0 || a.y.rank() == 0) return a.x * a.y;
  return contracted(a.x, a.y, {a.x.rank() - 1}, {a.y.rank() - 1});
}
void Inner::samples(SampleList& s) {
  add_sample<Inner>(s, {.x = grid({2, 3}, -1, 1), .y = grid({2, 2, 3}, -1, 2)});
  add_sample<Inner>(s, {.x = grid({3}, -1, 1), .y = grid({3}, -1, 2)});
  add_sample<Inner>(s, {.x = grid({}, -1, 1), .y = grid({3}, -1, 2)});
}

Tensor Kron::compose(const Args& a) {
  const int rank = std::max(a.x.rank(), a.y.rank());
  if (2 * rank > kMaxRank) throw shape_error("needs tensors of at most {} dims", kMaxRank / 2);
  Shape xs, ys, out;  // [x0, 1, x1, 1, ...] and [1, y0, 1, y1, ...]
  for (int d = 0; d < rank; ++d) {
    const int i = d - rank + a.x.rank(), j = d - rank + a.y.rank();
    const int64_t m = i < 0 ? 1 : a.x.shape()[i], n = j < 0 ? 1 : a.y.shape()[j];
    xs.push_back(m), xs.push_back(1);
    ys.push_back(1), ys.push_back(n);
    out.push_back(Checked(m) * n);
  }
  return reshape(reshape(a.x, xs) * reshape(a.y, ys), out);
}
void Kron::samples(SampleList& s) {
  add_sample<Kron>(s, {.x = grid({2, 3}, -1, 1), .y = grid({2, 2}, -1, 2)});
  add_sample<Kron>(s, {.x = grid({2}, -1, 1), .y = grid({2, 1, 2}, -1, 2)});
  add_sample<Kron>(s, {.x = grid({}, -1, 1), .y = grid({2}, -1, 2)});
}

OpFamily family_contract() {
  return list_ops(OpList<Einsum, Bilinear, Tensordot, Inner, Kron>{}, "contract");
}

}  // namespace rille
