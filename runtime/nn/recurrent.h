// Recurrent layers and their cells. Names, order of gates and initialisation are PyTorch's, so that
// weights can be carried over: weight_ih_l0 takes the input of the first layer, weight_hh_l0 its
// state; `_reverse` marks the direction that reads from the end.
#pragma once
#include "nn/layer.h"
#include "ops/op.h"

namespace rille::nn {

/// The weights of a cell, or of one direction of one layer. Rows are those of all gates.
struct Recurrence {
  Tensor weight_ih, weight_hh;  // [gates * hidden, in], [gates * hidden, size of h]
  Tensor bias_ih, bias_hh;      // [gates * hidden]
  Tensor weight_hr;             // [size of h, hidden], only of an LSTM with proj_size
  Slots tensors(const std::string& suffix = "");
};

/// What goes from step to step; c only in LSTMs.
struct RecurrentState {
  Tensor h, c;
};
/// (the input's part of the gates, state, weights) -> the next state
using RecurrentStep = RecurrentState (*)(const Tensor& gates, const RecurrentState& state,
                                         const Recurrence& w);

enum class Nonlinearity { tanh, relu };
constexpr std::array<std::string_view, 2> names_of(Nonlinearity) { return {"tanh", "relu"}; }

/// What a stack of layers needs to know beside its weights.
struct Stacking {
  int64_t hidden, state;  // sizes of c and of h
  bool batch_first, cells;
  double dropout;
};

/// What RNN, LSTM and GRU share.
struct Recurrent {
  std::vector<Recurrence> weights;  // by layer, then by direction
  bool second_reads_back = false;   // every layer has two directions
  bool training = true;

  struct Input {
    Tensor x, h, c, lengths;  // all but x may be empty
  };
  struct Result {
    Tensor y, h, c;  // the last states are [layers * directions, n, size]
  };
  Slots tensors();
  /// Draws the weights that the options ask for.
  template <class Options>
  void make(const Options& o, int64_t gates, int64_t state);
  Result run(const Stacking& s, RecurrentStep step, Input in) const;
};

template <class Options>
constexpr auto recurrent_fields() {
  return Fields{
      field("in", &Options::in, "size of the last dim of x").required(),
      field("hidden", &Options::hidden, "size of the state").required(),
      field("layers", &Options::layers, "one on top of the other"),
      field("bias", &Options::bias, "adds vectors"),
      field("batch_first", &Options::batch_first, "x and y are [n, time, size]"),
      field("dropout", &Options::dropout, "of what a layer gives to the next, in training"),
      field("bidirectional", &Options::bidirectional, "a second state reads from the end"),
      field("device", &Options::device, "default: the default device"),
      field("dtype", &Options::dtype, "default: the default dtype")};
}
template <class Inputs>
constexpr auto recurrent_inputs() {
  return Fields{
      field("x", &Inputs::x, "[time, n, in] or [time, in]"),
      field("h", &Inputs::h, "state before, [layers * directions, n, size]; default: zeros")};
}
/// Sequences of a batch may end early: y is zero from there on, and states stay.
template <class Inputs>
constexpr auto lengths_field() {
  return Fields{field("lengths", &Inputs::lengths, "[n], steps of time of each sequence")};
}

struct RNN : Recurrent {
  struct Options {
    int64_t in = 0, hidden = 0, layers = 1;
    bool bias = true, batch_first = false;
    double dropout = 0;
    bool bidirectional = false;
    Nonlinearity nonlinearity = Nonlinearity::tanh;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  struct Inputs {
    Tensor x;
    std::optional<Tensor> h = {}, lengths = {};
  };
  struct Out {
    Tensor y, h;
  };
  static constexpr std::string_view name = "RNN";
  static constexpr std::string_view doc = "h' = tanh(W_ih x + b_ih + W_hh h + b_hh) along time.";
  static constexpr auto fields =
      joined(recurrent_fields<Options>(),
             Fields{field("nonlinearity", &Options::nonlinearity, "what a step ends with")});
  static constexpr auto input_fields = joined(recurrent_inputs<Inputs>(), lengths_field<Inputs>());

  Options options;

  explicit RNN(const Options& o);
  Out forward(const Inputs& i) const;
};

struct GRU : Recurrent {
  struct Options {
    int64_t in = 0, hidden = 0, layers = 1;
    bool bias = true, batch_first = false;
    double dropout = 0;
    bool bidirectional = false;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  using Inputs = RNN::Inputs;
  using Out = RNN::Out;
  static constexpr std::string_view name = "GRU";
  static constexpr std::string_view doc =
      "Gated recurrent units along time: r, z = sigmoid(...), n = tanh(W_in x + b_in + r (W_hn h + "
      "b_hn)), h' = (1 - z) n + z h.";
  static constexpr auto fields = recurrent_fields<Options>();
  static constexpr auto input_fields = joined(recurrent_inputs<Inputs>(), lengths_field<Inputs>());

  Options options;

  explicit GRU(const Options& o);
  Out forward(const Inputs& i) const;
};

struct LSTM : Recurrent {
  struct Options {
    int64_t in = 0, hidden = 0, layers = 1;
    bool bias = true, batch_first = false;
    double dropout = 0;
    bool bidirectional = false;
    int64_t proj_size = 0;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  struct Inputs {
    Tensor x;
    std::optional<Tensor> h = {}, c = {}, lengths = {};
  };
  struct Out {
    Tensor y, h, c;
  };
  static constexpr std::string_view name = "LSTM";
  static constexpr std::string_view doc =
      "Long short-term memory along time: i, f, o = sigmoid(...), g = tanh(...), c' = f c + i g, "
      "h' = o tanh(c').";
  static constexpr auto fields = joined(
      recurrent_fields<Options>(),
      Fields{field("proj_size", &Options::proj_size, "size that h is projected to, unless 0")});
  static constexpr auto input_fields =
      joined(recurrent_inputs<Inputs>(),
             Fields{field("c", &Inputs::c, "cells before, [layers * directions, n, hidden]")},
             lengths_field<Inputs>());

  Options options;

  explicit LSTM(const Options& o);
  Out forward(const Inputs& i) const;
};

// ---- single steps ------------------------------------------------------------------------------

/// The options of a cell.
struct CellOptions {
  int64_t in = 0, hidden = 0;
  bool bias = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
template <class Options>
constexpr auto cell_fields() {
  return Fields{field("in", &Options::in, "size of the last dim of x").required(),
                field("hidden", &Options::hidden, "size of the state").required(),
                field("bias", &Options::bias, "adds vectors"),
                field("device", &Options::device, "default: the default device"),
                field("dtype", &Options::dtype, "default: the default dtype")};
}
template <class Inputs>
constexpr auto cell_inputs() {
  return Fields{field("x", &Inputs::x, "[n, in] or [in]"),
                field("h", &Inputs::h, "state before, [n, hidden]; default: zeros")};
}

struct RNNCell {
  struct Options {
    int64_t in = 0, hidden = 0;
    bool bias = true;
    Nonlinearity nonlinearity = Nonlinearity::tanh;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  struct Inputs {
    Tensor x;
    std::optional<Tensor> h = {};
  };
  static constexpr std::string_view name = "RNNCell";
  static constexpr std::string_view doc = "One step of an RNN.";
  static constexpr auto fields =
      joined(cell_fields<Options>(),
             Fields{field("nonlinearity", &Options::nonlinearity, "what the step ends with")});
  static constexpr auto input_fields = cell_inputs<Inputs>();

  Options options;
  Recurrence weights;

  explicit RNNCell(const Options& o);
  Slots tensors() { return weights.tensors(); }
  Tensor forward(const Inputs& i) const;
};

struct GRUCell {
  using Options = CellOptions;
  using Inputs = RNNCell::Inputs;
  static constexpr std::string_view name = "GRUCell";
  static constexpr std::string_view doc = "One step of a GRU.";
  static constexpr auto fields = cell_fields<Options>();
  static constexpr auto input_fields = cell_inputs<Inputs>();

  Options options;
  Recurrence weights;

  explicit GRUCell(const Options& o);
  Slots tensors() { return weights.tensors(); }
  Tensor forward(const Inputs& i) const;
};

struct LSTMCell {
  using Options = CellOptions;
  struct Inputs {
    Tensor x;
    std::optional<Tensor> h = {}, c = {};
  };
  struct Out {
    Tensor h, c;
  };
  static constexpr std::string_view name = "LSTMCell";
  static constexpr std::string_view doc = "One step of an LSTM; gives h and c.";
  static constexpr auto fields = cell_fields<Options>();
  static constexpr auto input_fields =
      joined(cell_inputs<Inputs>(), Fields{field("c", &Inputs::c, "cells before, [n, hidden]")});

  Options options;
  Recurrence weights;

  explicit LSTMCell(const Options& o);
  Slots tensors() { return weights.tensors(); }
  Out forward(const Inputs& i) const;
};

}  // namespace rille::nn
