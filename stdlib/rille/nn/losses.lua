-- A module for every loss: the options of its op when it is made, x and target when it is called.
local rille = require "rille"
local module = require "rille.nn.module"
local over_ops = require "rille.nn.over_ops"
local read_options = require "rille.options"

local losses = over_ops {
  CrossEntropyLoss = { "cross_entropy" },
  NLLLoss = { "nll_loss" },
  MSELoss = { "mse_loss" },
  L1Loss = { "l1_loss" },
  SmoothL1Loss = { "smooth_l1_loss" },
  HuberLoss = { "huber_loss" },
  BCELoss = { "bce_loss" },
  BCEWithLogitsLoss = { "bce_with_logits_loss" },
  KLDivLoss = { "kl_div" },
  HingeEmbeddingLoss = { "hinge_embedding_loss" },
  MarginRankingLoss = { "margin_ranking_loss" },
  TripletMarginLoss = { "triplet_margin_loss" },
  CosineEmbeddingLoss = { "cosine_embedding_loss" },
  CTCLoss = { "ctc_loss" },
  MultiMarginLoss = { "multi_margin_loss" },
  MultiLabelMarginLoss = { "multilabel_margin_loss" },
  MultiLabelSoftMarginLoss = { "multilabel_soft_margin_loss" },
  PoissonNLLLoss = { "poisson_nll_loss" },
  GaussianNLLLoss = { "gaussian_nll_loss" },
  SoftMarginLoss = { "soft_margin_loss" },
}

-- triplet_margin_loss with a distance of one's own: a function of two tensors.
local Triplet = module.define "TripletMarginWithDistanceLoss"

local known = {
  { "distance", type = "fun(a: rille.Tensor, b: rille.Tensor): rille.Tensor",
    doc = "pairwise_distance without" },
  { "margin", 1.0 }, { "swap", false },
  { "reduction", "mean", type = '"none"|"mean"|"sum"' },
}

function Triplet:init(options)
  local o = read_options("TripletMarginWithDistanceLoss", options, known)
  self.distance = o.distance or rille.pairwise_distance
  self.margin, self.swap, self.reduction = o.margin, o.swap, o.reduction
end

--: anchor: rille.Tensor, positive: rille.Tensor, negative: rille.Tensor -> rille.Tensor
function Triplet:forward(anchor, positive, negative)
  local near, far = self.distance(anchor, positive), self.distance(anchor, negative)
  if self.swap then far = far:minimum(self.distance(positive, negative)) end
  local loss = (near - far + self.margin):clamp_min(0)
  if self.reduction == "none" then return loss end
  return self.reduction == "sum" and loss:sum() or loss:mean()
end

function Triplet:describe()
  return ("margin=%g, reduction=%s"):format(self.margin, self.reduction)
end

losses.TripletMarginWithDistanceLoss = Triplet
return losses
