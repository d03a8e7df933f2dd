-- The ops that O1 casts around, by what it does to their arguments: Apex's lists, as rules of
-- amp.autocast. Ops that are in none of them keep the rule that they have there.
local lists = {
  lower = [[conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear prelu
    addmm addmv addr matmul mm mv addbmm baddbmm bmm]],
  f32 = [[interpolate grid_sample softplus softmin log_softmax softmax gelu layer_norm group_norm
    local_response_norm normalize cosine_similarity poisson_nll_loss cosine_embedding_loss
    cross_entropy hinge_embedding_loss kl_div l1_loss mse_loss margin_ranking_loss
    multilabel_margin_loss multilabel_soft_margin_loss multi_margin_loss nll_loss
    bce_with_logits_loss smooth_l1_loss soft_margin_loss triplet_margin_loss ctc_loss acos asin cosh
    erfinv exp expm1 log log10 log2 reciprocal rsqrt sinh tan pow cumprod cumsum dist norm prod std
    sum var]],
  widest = [[addcdiv addcmul atan2 cross bilinear dot add sub mul div eq equal ge gt le lt ne cat
    stack]],
  banned = "bce_loss",
}

-- A fresh table of op name -> policy.
return function()
  local rules = {}
  for policy, names in pairs(lists) do
    for name in names:gmatch "%S+" do rules[name] = policy end
  end
  return rules
end
