// The elementwise part of recurrent steps, fused: what nn's LSTM and GRU do between two products.
// Backward works the activations out again, so nothing is kept but the arguments.
#pragma once
#include "ops/op.h"

namespace rille {

struct LstmStep {
  struct Args {
    Tensor gates, c;
  };
  struct Out {
    Tensor h, c;
  };
  static constexpr std::string_view name = "lstm_step";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "c' = sigmoid(f) c + sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c') of gates i, f, g, o.";
  static constexpr std::string_view example =
      "rille.lstm_step(rille.ones(2, 12), rille.zeros(2, 3))";
  static constexpr auto fields =
      Fields{field("gates", &Args::gates, "[..., 4 hidden]").saved(),
             field("c", &Args::c, "cells before, [..., hidden]").saved()};
  static constexpr std::array<std::string_view, 2> result_names = {"h", "c"};
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool method = false;
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Out compose(const Args& a);
  static Args grad(const Back<LstmStep>& b);
  static void samples(SampleList& s);
};

struct LstmStepGrad {
  struct Args {
    Tensor gates, c, dh, dnext_c;
  };
  struct Out {
    Tensor dgates, dc;
  };
  static constexpr std::string_view name = "lstm_step_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradients of lstm_step.";
  static constexpr auto fields = Fields{
      field("gates", &Args::gates, "[..., 4 hidden]"), field("c", &Args::c, "[..., hidden]"),
      field("dh", &Args::dh, "gradient of h'"), field("dnext_c", &Args::dnext_c, "gradient of c'")};
  static constexpr bool method = false;
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct GruStep {
  struct Args {
    Tensor x_gates, h_gates, h;
  };
  static constexpr std::string_view name = "gru_step";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "n + sigmoid(xz + hz) (h - n), n = tanh(xn + sigmoid(xr + hr) hn), of gates r, z, n.";
  static constexpr std::string_view example =
      "rille.gru_step(rille.ones(2, 9), rille.ones(2, 9), rille.zeros(2, 3))";
  static constexpr auto fields =
      Fields{field("x_gates", &Args::x_gates, "the input's part, [..., 3 hidden]").saved(),
             field("h_gates", &Args::h_gates, "the state's part, [..., 3 hidden]").saved(),
             field("h", &Args::h, "state before, [..., hidden]").saved()};
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<GruStep>& b);
  static void samples(SampleList& s);
};

struct GruStepGrad {
  struct Args {
    Tensor x_gates, h_gates, h, dnext_h;
  };
  struct Out {
    Tensor dx_gates, dh_gates, dh;
  };
  static constexpr std::string_view name = "gru_step_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradients of gru_step.";
  static constexpr auto fields = Fields{field("x_gates", &Args::x_gates, "[..., 3 hidden]"),
                                        field("h_gates", &Args::h_gates, "[..., 3 hidden]"),
                                        field("h", &Args::h, "[..., hidden]"),
                                        field("dnext_h", &Args::dnext_h, "gradient of h'")};
  static constexpr bool method = false;
  static std::array<Meta, 3> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
