#include "ops/recurrent.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/recurrent.h"
#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/register.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/trig.h"

namespace rille {
namespace {

Tensor sigmoid(const Tensor& x) { return call<Sigmoid>({.x = x}); }
Tensor tanh(const Tensor& x) { return call<Tanh>({.x = x}); }
std::vector<Tensor> parts(const Tensor& gates, int64_t n) {
  return call<Chunk>({.x = gates, .n = n, .dim = {-1}});
}
Tensor bend(const Tensor& y) { return y * (1 - y); }  // the slope of sigmoid, from its result

void check_gates(const Tensor& gates, const Tensor& state, int64_t n, std::string_view gates_name,
                 std::string_view state_name) {
  if (!gates.is_float() || gates.dtype() != state.dtype())
    throw dtype_error("'{}' and '{}' must be of one float dtype, got {} and {}", gates_name,
                      state_name, name(gates.dtype()), name(state.dtype()))
        .of(gates_name, state_name);
  Shape wanted = state.shape();
  if (!wanted.empty()) wanted[wanted.size() - 1] = Checked(wanted.back()) * n;
  if (wanted.empty() || gates.shape() != wanted)
    throw shape_error("'{}' must be [..., {} hidden] to [..., hidden], got {} and {}", gates_name,
                      n, to_string(gates.shape()), to_string(state.shape()))
        .of(gates_name, state_name);
}

int64_t rows_of(const Tensor& state) {
  return state.size(-1) == 0 ? 0 : state.numel() / state.size(-1);
}

Meta plain(const Tensor& t) { return meta_of(t.shape(), t.dtype(), t); }

cpu::LstmStep lstm_args(const Tensor& gates, const Tensor& c) {
  return {rows_of(c), c.size(-1), gates.data(), c.data()};
}

Tensor given_or_zero(const Tensor& dy, const Tensor& like) {
  return dy ? dy : full(like.shape(), 0, like.dtype(), like.device());
}

}  // namespace

// ---- LSTM --------------------------------------------------------------------------------------

std::array<Meta, 2> LstmStep::infer(const Args& a) {
  check_gates(a.gates, a.c, 4, "gates", "c");
  return {plain(a.c), plain(a.c)};
}
void LstmStep::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const Tensor gates = contiguous(a.gates), c = contiguous(a.c);
  cpu::lstm_step(c.dtype(), lstm_args(gates, c), y.h.data(), y.c.data());
}
LstmStep::Out LstmStep::compose(const Args& a) {
  const std::vector<Tensor> g = parts(a.gates, 4);
  const Tensor c = sigmoid(g[1]) * a.c + sigmoid(g[0]) * tanh(g[2]);
  return {sigmoid(g[3]) * tanh(c), c};
}
LstmStep::Args LstmStep::grad(const Back<LstmStep>& b) {
  const auto g = call<LstmStepGrad>(
      {b.a.gates, b.a.c, given_or_zero(b.dy.h, b.a.c), given_or_zero(b.dy.c, b.a.c)});
  return {g.dgates, g.dc};
}
void LstmStep::samples(SampleList& s) {
  add_sample<LstmStep>(s, {grid({2, 12}, -2, 2), grid({2, 3}, -1, 1)});
  add_sample<LstmStep>(s, {strided(grid({3, 4}, -2, 2)), grid({3, 1}, -1, 1)});
  add_sample<LstmStep>(s, {grid({8}, -2, 2), grid({2}, -1, 1)});
  add_sample<LstmStep>(s, {grid({0, 8}, -2, 2), grid({0, 2}, -1, 1)});
}

std::array<Meta, 2> LstmStepGrad::infer(const Args& a) {
  check_gates(a.gates, a.c, 4, "gates", "c");
  must_have_shape(a.dh, a.c.shape(), "dh");
  must_have_shape(a.dnext_c, a.c.shape(), "dnext_c");
  return {plain(a.gates), plain(a.c)};
}
void LstmStepGrad::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const DType d = a.c.dtype();
  const Tensor gates = contiguous(a.gates), c = contiguous(a.c), dh = contiguous(cast(a.dh, d)),
               dnext_c = contiguous(cast(a.dnext_c, d));
  cpu::lstm_step_backward(d, lstm_args(gates, c), dh.data(), dnext_c.data(), y.dgates.data(),
                          y.dc.data());
}
LstmStepGrad::Out LstmStepGrad::compose(const Args& a) {
  const std::vector<Tensor> raw = parts(a.gates, 4);
  const Tensor i = sigmoid(raw[0]), f = sigmoid(raw[1]), g = tanh(raw[2]), o = sigmoid(raw[3]);
  const Tensor said = tanh(f * a.c + i * g);
  const Tensor dcell = a.dnext_c + a.dh * o * (1 - said * said);
  return {cat({dcell * g * bend(i), dcell * a.c * bend(f), dcell * i * (1 - g * g),
               a.dh * said * bend(o)},
              -1),
          dcell * f};
}
void LstmStepGrad::samples(SampleList& s) {
  add_sample<LstmStepGrad>(
      s, {grid({2, 8}, -2, 2), grid({2, 2}, -1, 1), grid({2, 2}, -1, 2), grid({2, 2}, -2, 1)});
}

// ---- GRU ---------------------------------------------------------------------------------------

Meta GruStep::infer(const Args& a) {
  check_gates(a.x_gates, a.h, 3, "x_gates", "h");
  check_gates(a.h_gates, a.h, 3, "h_gates", "h");
  return plain(a.h);
}
void GruStep::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x_gates), s = contiguous(a.h_gates), h = contiguous(a.h);
  cpu::gru_step(h.dtype(), {rows_of(h), h.size(-1), x.data(), s.data(), h.data()}, y.data());
}
Tensor GruStep::compose(const Args& a) {
  const std::vector<Tensor> x = parts(a.x_gates, 3), s = parts(a.h_gates, 3);
  const Tensor r = sigmoid(x[0] + s[0]), z = sigmoid(x[1] + s[1]);
  const Tensor fresh = tanh(x[2] + r * s[2]);
  return fresh + z * (a.h - fresh);
}
GruStep::Args GruStep::grad(const Back<GruStep>& b) {
  const auto g = call<GruStepGrad>({b.a.x_gates, b.a.h_gates, b.a.h, b.dy});
  return {g.dx_gates, g.dh_gates, g.dh};
}
void GruStep::samples(SampleList& s) {
  add_sample<GruStep>(s, {grid({2, 9}, -2, 2), grid({2, 9}, -1, 2), grid({2, 3}, -1, 1)});
  add_sample<GruStep>(s, {strided(grid({3, 3}, -2, 2)), grid({3, 3}, -1, 2), grid({3, 1}, -1, 1)});
  add_sample<GruStep>(s, {grid({0, 6}, -2, 2), grid({0, 6}, -1, 2), grid({0, 2}, -1, 1)});
}

std::array<Meta, 3> GruStepGrad::infer(const Args& a) {
  check_gates(a.x_gates, a.h, 3, "x_gates", "h");
  check_gates(a.h_gates, a.h, 3, "h_gates", "h");
  must_have_shape(a.dnext_h, a.h.shape(), "dnext_h");
  return {plain(a.x_gates), plain(a.h_gates), plain(a.h)};
}
void GruStepGrad::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const DType d = a.h.dtype();
  const Tensor x = contiguous(a.x_gates), s = contiguous(a.h_gates), h = contiguous(a.h),
               dnext = contiguous(cast(a.dnext_h, d));
  cpu::gru_step_backward(d, {rows_of(h), h.size(-1), x.data(), s.data(), h.data()}, dnext.data(),
                         y.dx_gates.data(), y.dh_gates.data(), y.dh.data());
}
GruStepGrad::Out GruStepGrad::compose(const Args& a) {
  const std::vector<Tensor> x = parts(a.x_gates, 3), s = parts(a.h_gates, 3);
  const Tensor r = sigmoid(x[0] + s[0]), z = sigmoid(x[1] + s[1]);
  const Tensor fresh = tanh(x[2] + r * s[2]);
  const Tensor dfresh = a.dnext_h * (1 - z) * (1 - fresh * fresh);
  const Tensor dr = dfresh * s[2] * bend(r), dz = a.dnext_h * (a.h - fresh) * bend(z);
  return {cat({dr, dz, dfresh}, -1), cat({dr, dz, dfresh * r}, -1), a.dnext_h * z};
}
void GruStepGrad::samples(SampleList& s) {
  add_sample<GruStepGrad>(
      s, {grid({2, 6}, -2, 2), grid({2, 6}, -1, 2), grid({2, 2}, -1, 1), grid({2, 2}, -2, 1)});
}

OpFamily family_recurrent() {
  return list_ops(OpList<LstmStep, LstmStepGrad, GruStep, GruStepGrad>{}, "recurrent");
}

}  // namespace rille
