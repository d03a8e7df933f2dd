// The one loss that takes a function: triplet_margin_loss with a distance of one's own.
#pragma once
#include <functional>

#include "rille/error.hpp"
#include "rille/module.hpp"
#include "rille/ops.hpp"

namespace rille::RILLE_V1::nn {

struct TripletMarginWithDistanceLossOptions {
  /// pairwise_distance without
  std::function<Tensor(const Tensor&, const Tensor&)> distance = {};
  double margin = 1;
  /// the negative's distance from the positive counts where it is less than from the anchor
  bool swap = false;
  /// "none", "mean" or "sum"
  std::string reduction = "mean";
};
/// max(0, distance(anchor, positive) - distance(anchor, negative) + margin).
class TripletMarginWithDistanceLoss : public ModuleOf<TripletMarginWithDistanceLoss> {
 public:
  explicit TripletMarginWithDistanceLoss(const TripletMarginWithDistanceLossOptions& options = {})
      : ModuleOf("TripletMarginWithDistanceLoss"), options_(options) {
    if (options.reduction != "none" && options.reduction != "mean" && options.reduction != "sum")
      throw Error(ErrorKind::argument, "E_ARG",
                  "'reduction' must be 'none', 'mean' or 'sum', got '" + options.reduction + "'");
    if (!options_.distance)
      options_.distance = [](const Tensor& a, const Tensor& b) { return pairwise_distance(a, b); };
  }
  Tensor operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const {
    const Tensor near = options_.distance(anchor, positive);
    Tensor far = options_.distance(anchor, negative);
    if (options_.swap) far = minimum(far, options_.distance(positive, negative));
    const Tensor loss = clamp_min(near - far + options_.margin, 0);
    if (options_.reduction == "none") return loss;
    return options_.reduction == "sum" ? sum(loss) : mean(loss);
  }

 private:
  TripletMarginWithDistanceLossOptions options_;
};

}  // namespace rille::RILLE_V1::nn
