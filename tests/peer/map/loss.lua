-- Losses. Torch's older size_average and reduce are not mapped.

local m = require "map.call"
local op = m.op

local map = {}
for torch, name in pairs {
    binary_cross_entropy = "bce_loss", binary_cross_entropy_with_logits = "bce_with_logits_loss",
    cosine_embedding_loss = "cosine_embedding_loss", cross_entropy = "cross_entropy",
    ctc_loss = "ctc_loss", gaussian_nll_loss = "gaussian_nll_loss",
    hinge_embedding_loss = "hinge_embedding_loss", huber_loss = "huber_loss", kl_div = "kl_div",
    l1_loss = "l1_loss", margin_ranking_loss = "margin_ranking_loss", mse_loss = "mse_loss",
    multi_margin_loss = "multi_margin_loss", nll_loss = "nll_loss",
    poisson_nll_loss = "poisson_nll_loss", smooth_l1_loss = "smooth_l1_loss",
    soft_margin_loss = "soft_margin_loss", triplet_margin_loss = "triplet_margin_loss",
} do
    map["nn.functional." .. torch] = op(name)
end

return map
