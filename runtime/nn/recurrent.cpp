#include "nn/recurrent.h"

#include <algorithm>

#include "core/fail.h"
#include "core/sizes.h"
#include "nn/init.h"
#include "nn/register.h"
#include "ops/activation.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/dropout.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/rectifier.h"
#include "ops/recurrent.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/trig.h"
#include "ops/view.h"

namespace rille::nn {
namespace {

// ---- steps -------------------------------------------------------------------------------------

Tensor input_gates(const Tensor& x, const Recurrence& w) {
  return call<rille::Linear>({.x = x, .weight = w.weight_ih, .bias = maybe(w.bias_ih)});
}
Tensor state_gates(const Tensor& h, const Recurrence& w) {
  return call<rille::Linear>({.x = h, .weight = w.weight_hh, .bias = maybe(w.bias_hh)});
}

RecurrentState tanh_step(const Tensor& x, const RecurrentState& s, const Recurrence& w) {
  return {call<Tanh>({.x = x + state_gates(s.h, w)}), {}};
}

RecurrentState relu_step(const Tensor& x, const RecurrentState& s, const Recurrence& w) {
  return {call<Relu>({.x = x + state_gates(s.h, w)}), {}};
}

RecurrentStep step_of(Nonlinearity n) { return n == Nonlinearity::tanh ? tanh_step : relu_step; }

RecurrentState gru_step(const Tensor& x, const RecurrentState& s, const Recurrence& w) {
  return {call<GruStep>({x, state_gates(s.h, w), s.h}), {}};
}

RecurrentState lstm_step(const Tensor& x, const RecurrentState& s, const Recurrence& w) {
  const LstmStep::Out next = call<LstmStep>({x + state_gates(s.h, w), s.c});
  if (!w.weight_hr) return {next.h, next.c};
  return {call<rille::Linear>({.x = next.h, .weight = w.weight_hr}), next.c};
}

// ---- weights -----------------------------------------------------------------------------------

struct Rows {
  int64_t in, hidden, state, gates;
};

// All of them uniform within 1 / sqrt(hidden).
Recurrence drawn(const Rows& n, bool bias, const Place& place) {
  const double bound = fan_bound(n.hidden);
  const int64_t rows = n.gates * Checked(n.hidden);
  Recurrence w;
  w.weight_ih = uniform_parameter({rows, n.in}, bound, place);
  w.weight_hh = uniform_parameter({rows, n.state}, bound, place);
  if (bias) {
    w.bias_ih = uniform_parameter({rows}, bound, place);
    w.bias_hh = uniform_parameter({rows}, bound, place);
  }
  if (n.state != n.hidden) w.weight_hr = uniform_parameter({n.state, n.hidden}, bound, place);
  return w;
}

template <class Options>
Recurrence cell_weights(const Options& o, int64_t gates) {
  check_size(o.in, "in");
  check_size(o.hidden, "hidden");
  return drawn({o.in, o.hidden, o.hidden, gates}, o.bias, place_of(o));
}

// ---- inputs ------------------------------------------------------------------------------------

// The state given, or zeros; its shape must be that.
Tensor state_of(const Tensor& given, const Shape& shape, const Tensor& x, std::string_view what) {
  if (!given) return full(shape, 0, x.dtype(), x.device());
  if (given.shape() != shape)
    throw shape_error("'{}' must have shape {}, got {}", what, to_string(shape),
                      to_string(given.shape()))
        .of("x", what);
  return given;
}

Tensor value_or_none(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }

void check_width(const Tensor& x, int64_t in, int least, int most) {
  if (x.rank() < least || x.rank() > most || x.size(-1) != in)
    throw shape_error("'x' must have {} or {} dims, the last of size {}, got {}", least, most, in,
                      to_string(x.shape()))
        .of("x");
}

// One step of a cell, of a batch or of a single vector.
RecurrentState cell_step(RecurrentStep step, const Recurrence& w, const Tensor& x, const Tensor& h,
                         const Tensor& c, bool has_cells) {
  check_width(x, w.weight_ih.size(1), 1, 2);
  Shape shape = x.shape();
  shape[shape.size() - 1] = w.weight_hh.size(1);
  const RecurrentState before{state_of(h, shape, x, "h"),
                              has_cells ? state_of(c, shape, x, "c") : Tensor()};
  return step(input_gates(x, w), before, w);
}

// Whether each sequence still runs, at each time: [n, 1]; nothing where all run to the end.
std::vector<Tensor> running(const Tensor& lengths, const Tensor& x) {
  if (!lengths) return {};
  const int64_t time = x.size(0), n = x.size(1);
  if (lengths.dtype() != DType::i64 && lengths.dtype() != DType::i32)
    throw dtype_error("'lengths' must be i64 or i32, got {}", name(lengths.dtype())).of("lengths");
  if (lengths.shape() != Shape{n})
    throw shape_error("'lengths' must have shape [{}], got {}", n, to_string(lengths.shape()))
        .of("x", "lengths");
  for (int64_t i = 0; i < n && !lengths.is_meta(); ++i)
    if (lengths.at(i) < 0 || lengths.at(i) > static_cast<double>(time))
      throw arg_error("'lengths' must be from 0 to {}, got {} at {}", time, lengths.at(i), i + 1)
          .of("x", "lengths");
  const Tensor steps = call<Arange>({.first = Tensor::number(int64_t{0}),
                                     .last = Tensor::number(time - 1),
                                     .device = x.device()});
  const Tensor more = call<Gt>({.x = unsqueeze(lengths, 0), .y = unsqueeze(steps, 1)});
  return call<Unbind>({.x = unsqueeze(more, -1)});
}

struct Scan {
  Tensor y;  // what was said at each time
  RecurrentState last;
};

// Runs one direction over x, [time, n, in].
Scan scan(RecurrentStep step, const Recurrence& w, const Tensor& x, RecurrentState s,
          const std::vector<Tensor>& runs, bool reverse) {
  const std::vector<Tensor> gates = call<Unbind>({.x = input_gates(x, w)});
  std::vector<Tensor> said(gates.size());
  for (size_t i = 0; i < gates.size(); ++i) {
    const size_t t = reverse ? gates.size() - 1 - i : i;
    RecurrentState next = step(gates[t], s, w);
    said[t] = next.h;
    if (!runs.empty()) {
      said[t] = where(runs[t], next.h, Tensor::number(0.0));
      next.h = where(runs[t], next.h, s.h);
      if (s.c) next.c = where(runs[t], next.c, s.c);
    }
    s = std::move(next);
  }
  return {stack(said), s};
}

}  // namespace

Slots Recurrence::tensors(const std::string& suffix) {
  return {parameter("weight_ih" + suffix, weight_ih), parameter("weight_hh" + suffix, weight_hh),
          parameter("bias_ih" + suffix, bias_ih), parameter("bias_hh" + suffix, bias_hh),
          parameter("weight_hr" + suffix, weight_hr)};
}

// ---- layers ------------------------------------------------------------------------------------

template <class Options>
void Recurrent::make(const Options& o, int64_t gates, int64_t state) {
  check_size(o.in, "in");
  check_size(o.hidden, "hidden", 1);
  check_size(o.layers, "layers", 1);
  if (!(o.dropout >= 0 && o.dropout <= 1))
    throw arg_error("'dropout' must be between 0 and 1, got {}", o.dropout);
  second_reads_back = o.bidirectional;
  const int64_t directions = o.bidirectional ? 2 : 1;
  const int64_t count = Checked(o.layers) * directions;
  expect_room(count, 4 * static_cast<int64_t>(sizeof(TensorImpl)));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t in = i < directions ? o.in : Checked(state) * directions;
    weights.push_back(drawn({in, o.hidden, state, gates}, o.bias, place_of(o)));
  }
}

Slots Recurrent::tensors() {
  Slots out;
  const bool both = weights.size() > 1 && second_reads_back;
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t layer = both ? i / 2 : i;
    const Slots own =
        weights[i].tensors(fmt::format("_l{}{}", layer, both && i % 2 ? "_reverse" : ""));
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

Recurrent::Result Recurrent::run(const Stacking& s, RecurrentStep step, Input in) const {
  Tensor x = in.x;
  check_width(x, weights[0].weight_ih.size(1), 2, 3);
  const bool single = x.rank() == 2;
  if (single) {
    x = unsqueeze(x, 1);
    if (in.h) in.h = unsqueeze(in.h, 1);
    if (in.c) in.c = unsqueeze(in.c, 1);
  } else if (s.batch_first) {
    x = transpose(x, 0, 1);
  }
  if (x.size(0) == 0) throw shape_error("'x' must have a step of time at least").of("x");
  const std::vector<Tensor> runs = running(in.lengths, x);
  const auto count = static_cast<int64_t>(weights.size());
  const auto begin = [&](const Tensor& given, int64_t size, std::string_view what) {
    return call<Unbind>({state_of(given, {count, x.size(1), size}, x, what)});
  };
  const std::vector<Tensor> hs = begin(in.h, s.state, "h");
  std::vector<Tensor> cs(weights.size()), last_h, last_c;
  if (s.cells) cs = begin(in.c, s.hidden, "c");
  for (size_t i = 0; i < weights.size();) {
    std::vector<Tensor> sides;
    for (const bool reverse : {false, true}) {
      if (reverse && !second_reads_back) continue;
      Scan done = scan(step, weights[i], x, {hs[i], cs[i]}, runs, reverse);
      sides.push_back(done.y);
      last_h.push_back(done.last.h);
      if (s.cells) last_c.push_back(done.last.c);
      ++i;
    }
    x = sides.size() == 1 ? sides[0] : cat(sides, -1);
    if (training && s.dropout > 0 && i < weights.size())
      x = call<rille::Dropout>({.x = x, .p = s.dropout});
  }
  Result r{x, stack(last_h), s.cells ? stack(last_c) : Tensor()};
  if (single) return {squeeze(r.y, 1), squeeze(r.h, 1), r.c ? squeeze(r.c, 1) : Tensor()};
  if (s.batch_first) r.y = transpose(r.y, 0, 1);
  return r;
}

RNN::RNN(const Options& o) : options(o) { make(o, 1, o.hidden); }
RNN::Out RNN::forward(const Inputs& i) const {
  const Options& o = options;
  const Result r =
      run({o.hidden, o.hidden, o.batch_first, false, o.dropout}, step_of(o.nonlinearity),
          {i.x, value_or_none(i.h), {}, value_or_none(i.lengths)});
  return {r.y, r.h};
}

GRU::GRU(const Options& o) : options(o) { make(o, 3, o.hidden); }
GRU::Out GRU::forward(const Inputs& i) const {
  const Options& o = options;
  const Result r = run({o.hidden, o.hidden, o.batch_first, false, o.dropout}, gru_step,
                       {i.x, value_or_none(i.h), {}, value_or_none(i.lengths)});
  return {r.y, r.h};
}

LSTM::LSTM(const Options& o) : options(o) {
  check_size(o.proj_size, "proj_size");
  if (o.proj_size >= o.hidden && o.proj_size > 0)
    throw arg_error("'proj_size' must be less than 'hidden', got {} and {}", o.proj_size, o.hidden);
  make(o, 4, o.proj_size ? o.proj_size : o.hidden);
}
LSTM::Out LSTM::forward(const Inputs& i) const {
  const Options& o = options;
  const Result r =
      run({o.hidden, o.proj_size ? o.proj_size : o.hidden, o.batch_first, true, o.dropout},
          lstm_step, {i.x, value_or_none(i.h), value_or_none(i.c), value_or_none(i.lengths)});
  return {r.y, r.h, r.c};
}

// ---- cells -------------------------------------------------------------------------------------

RNNCell::RNNCell(const Options& o) : options(o), weights(cell_weights(o, 1)) {}
Tensor RNNCell::forward(const Inputs& i) const {
  return cell_step(step_of(options.nonlinearity), weights, i.x, value_or_none(i.h), {}, false).h;
}

GRUCell::GRUCell(const Options& o) : options(o), weights(cell_weights(o, 3)) {}
Tensor GRUCell::forward(const Inputs& i) const {
  return cell_step(gru_step, weights, i.x, value_or_none(i.h), {}, false).h;
}

LSTMCell::LSTMCell(const Options& o) : options(o), weights(cell_weights(o, 4)) {}
LSTMCell::Out LSTMCell::forward(const Inputs& i) const {
  const RecurrentState s =
      cell_step(lstm_step, weights, i.x, value_or_none(i.h), value_or_none(i.c), true);
  return {s.h, s.c};
}

LayerFamily layers_recurrent() { return list_layers<RNN, LSTM, GRU, RNNCell, LSTMCell, GRUCell>(); }

}  // namespace rille::nn
