// Connectionist temporal classification: labels without times against log-probabilities by time.
#pragma once
#include "ops/cross_entropy.h"

namespace rille {

struct CtcLoss {
  struct Args {
    Tensor x, target, input_lengths, target_lengths;
    int64_t blank = 0;
    LossReduction reduction = LossReduction::mean;
    bool zero_infinity = false;
  };
  static constexpr std::string_view name = "ctc_loss";
  static constexpr std::string_view doc =
      "-log of the probability of each label sequence, summed over all ways to spread it over "
      "time with "
      "blanks between. A mean divides each loss by its number of labels first.";
  static constexpr std::string_view example =
      "rille.ctc_loss(rille.log_softmax(rille.ones(5, 1, 3), -1), rille.tensor({{1, 2}}, { dtype = "
      "'i64' }), rille.tensor({5}, { dtype = 'i64' }), rille.tensor({2}, { dtype = 'i64' }))";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "log-probabilities, [time, n, classes] or [time, classes]"),
      field("target", &Args::target, "ids from 0: [n, labels], or all labels one after another"),
      field("input_lengths", &Args::input_lengths, "[n], steps of time of each sequence"),
      field("target_lengths", &Args::target_lengths, "[n], labels of each sequence"),
      field("blank", &Args::blank, "id of the blank"),
      field("reduction", &Args::reduction, "what becomes of the single losses"),
      field("zero_infinity", &Args::zero_infinity, "0 for labels that don't fit the time")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// The single losses, by the forward-backward algorithm in logarithms.
struct CtcLosses {
  struct Args {
    Tensor x, target, input_lengths, target_lengths;
    int64_t blank = 0;
  };
  struct Saved {
    Tensor loss, alpha;
  };
  static constexpr std::string_view name = "ctc_losses";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The loss of each sequence of ctc_loss.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[time, n, classes], f32 or f64").saved(),
             field("target", &Args::target, "[n, labels], i64").saved(),
             field("input_lengths", &Args::input_lengths, "[n], i64").saved(),
             field("target_lengths", &Args::target_lengths, "[n], i64").saved(),
             field("blank", &Args::blank, "id of the blank")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static std::array<Meta, 2> saved_meta(const Args& a);
  static void cpu(const Args& a, Tensor& y, Saved* saved);
  static Tensor compose(const Args& a);
  static Args grad(const Back<CtcLosses>& b);
  static void samples(SampleList& s);
};

/// dx[t, n, k] = -dloss[n] times the probability that class k is emitted at t.
struct CtcLossGrad {
  struct Args {
    Tensor x, target, input_lengths, target_lengths, dloss, loss, alpha;
    int64_t blank = 0;
  };
  static constexpr std::string_view name = "ctc_loss_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradient of ctc_losses.";
  static constexpr auto fields = Fields{field("x", &Args::x, "[time, n, classes]"),
                                        field("target", &Args::target, "[n, labels], i64"),
                                        field("input_lengths", &Args::input_lengths, "[n], i64"),
                                        field("target_lengths", &Args::target_lengths, "[n], i64"),
                                        field("dloss", &Args::dloss, "[n]"),
                                        field("loss", &Args::loss, "what ctc_losses gave"),
                                        field("alpha", &Args::alpha, "what it kept"),
                                        field("blank", &Args::blank, "id of the blank")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& dx);
  static Tensor compose(const Args& a);
  static void samples(SampleList&) {}
};

}  // namespace rille
