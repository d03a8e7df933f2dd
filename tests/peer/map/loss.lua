-- Losses. Torch's older size_average and reduce are not mapped.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = {}
for torch, name in pairs {
    binary_cross_entropy = "bce_loss", binary_cross_entropy_with_logits = "bce_with_logits_loss",
    cosine_embedding_loss = "cosine_embedding_loss", cross_entropy = "cross_entropy",
    ctc_loss = "ctc_loss", gaussian_nll_loss = "gaussian_nll_loss",
    hinge_embedding_loss = "hinge_embedding_loss", huber_loss = "huber_loss", kl_div = "kl_div",
    l1_loss = "l1_loss", margin_ranking_loss = "margin_ranking_loss", mse_loss = "mse_loss",
    multi_margin_loss = "multi_margin_loss", multilabel_margin_loss = "multilabel_margin_loss",
    multilabel_soft_margin_loss = "multilabel_soft_margin_loss", nll_loss = "nll_loss",
    poisson_nll_loss = "poisson_nll_loss", smooth_l1_loss = "smooth_l1_loss",
    soft_margin_loss = "soft_margin_loss", triplet_margin_loss = "triplet_margin_loss",
} do
    map["nn.functional." .. torch] = op(name)
end

map["nn.functional.multilabel_soft_margin_loss"] = by(function(c)
    local each = R.bce_with_logits_loss(c.args[1], c.args[2], { weight = c.kwargs.weight,
        reduction = "none" })
    local losses, reduction = R.mean(each, -1), c.kwargs.reduction or "mean"
    return reduction == "none" and losses or R[reduction](losses)
end)

map["nn.functional.linear_cross_entropy"] = by(function(c)
    if c.args[2]:dim() ~= 2 then
        m.not_mapped("weights of more than two dims")
    end
    local k = c.kwargs
    local logits = R.linear(c.args[1], c.args[2], { bias = k.linear_bias })
    return R.cross_entropy(logits, c.args[3], { reduction = k.reduction, weight = k.weight,
        ignore = k.ignore_index, label_smoothing = k.label_smoothing })
end)
map["nn.functional.linear_cross_entropy"].sums = true

return map
