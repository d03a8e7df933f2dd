-- Convolution, pooling, normalisation, attention, resizing, embedding.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = {}
for d = 1, 3 do
    for _, name in ipairs { "conv%dd", "conv_transpose%dd", "max_pool%dd", "avg_pool%dd" } do
        local here = name:format(d)
        map["nn.functional." .. here] = op(here)
    end
end
for d = 1, 3 do
    -- None as the size of a dim is that of x.
    for _, kind in ipairs { "avg", "max" } do
        local name = "adaptive_" .. kind .. "_pool" .. d .. "d"
        map["nn.functional." .. name] = op(name, { before = function(c)
            local size = c.args[2]
            if type(size) == "table" then
                for i, v in ipairs(size) do
                    size[i] = v == m.none and c.args[1]:size(i - #size - 1) or v
                end
            end
        end })
    end
end
-- output_size may be given with or without the batch and the channels.
for d = 1, 3 do
    local unpool = op("max_unpool" .. d .. "d", { before = function(c)
        local size = c.kwargs.output_size
        if size and #size > d then
            c.kwargs.output_size = table.move(size, #size - d + 1, #size, 1, {})
        end
    end })
    map["nn.functional.max_unpool" .. d .. "d"] = unpool
    map["nn.functional.max_unpool" .. d .. "d.grad"] = unpool
end
-- The sample is the gradient of the pool under a cotangent of ones.
map["max_pool2d_with_indices_backward"] = by(function(c)
    local x = c.args[1]:detach():requires_grad_()
    local call = { n = 1, args = { x }, kwargs = c.kwargs }
    local y = map["nn.functional.max_pool2d"].run(call)
    y:backward(R.ones_like(y))
    return x.grad
end)

map["nn.functional.embedding"] = op("embedding", { order = { "weight", "ids" } })
map["nn.functional.embedding_bag"] = op("embedding_bag", { order = { "weight", "ids" } })
map["native_dropout_backward"] = by(function(c)
    return R.mul(R.mul(c.args[1], c.args[2]), c.args[3])
end)
map["nn.functional.unfold"] = op("unfold2d")
map["nn.functional.fold"] = op("fold2d")
-- Bicubic weights are of both signs: what is left is small beside the terms.
map["nn.functional.grid_sample"] = op("grid_sample", { sums = true, before = function(c)
    if c.args[1]:dim() == 5 and c.kwargs.mode == "bicubic" then
        m.not_mapped("bicubic volumes")
    end
end })
-- Over one element the gradient is 0 but for rounding.
map["nn.functional.layer_norm"] = op("layer_norm", { order = { "x", "shape", "weight", "bias" },
    sums = true, slack = 3 })
map["nn.functional.rms_norm"] = op("rms_norm", { order = { "x", "shape", "weight", "eps" } })
map["nn.functional.normalize"] = op("normalize", { sums = true })
map["nn.functional.group_norm"] = op("group_norm")
map["nn.functional.instance_norm"] = op("instance_norm")
-- Of two values the gradient is 0 but for rounding.
map["nn.functional.batch_norm"] = op("batch_norm", { sums = true, before = function(c)
    if c.args[1]:dim() < 2 then
        m.not_mapped("no dim of channels")
    end
end })
map["nn.functional.local_response_norm"] = op("local_response_norm")
-- Where one score outweighs the others, gradients are differences that leave only rounding.
map["nn.functional.scaled_dot_product_attention"] = op("scaled_dot_product_attention", {
    sums = true, slack = 3,
    random = function(c) return (c.kwargs.dropout_p or 0) > 0 end,
})

local kModes = { "bilinear", "nearest", "bicubic" }
local kPadding = { "zeros", "border", "reflection" }
for d = 2, 3 do
    map["grid_sampler_" .. d .. "d"] = by(function(c)
        return R.grid_sample(c.args[1], c.args[2], { mode = kModes[c.args[3] + 1],
            padding_mode = kPadding[c.args[4] + 1], align_corners = c.args[5] })
    end)
end

-- interpolate(x, size): one number stands for every dim.
local function interpolate(fixed)
    return op("interpolate", { order = { "x", "size" }, fixed = fixed, before = function(c)
        local scale = c.kwargs.scale_factor
        if type(scale) == "number" then
            local list = {}
            for i = 1, c.args[1]:dim() - 2 do
                list[i] = scale
            end
            c.kwargs.scale_factor = list
        end
    end })
end
for _, mode in ipairs { "area", "bicubic", "bilinear", "linear", "nearest", "nearest-exact",
    "trilinear" } do
    map["nn.functional.interpolate." .. mode] = interpolate()
end
map["nn.functional.upsample_nearest"] = interpolate { mode = "nearest" }
map["nn.functional.upsample_bilinear"] = interpolate { mode = "bilinear", align_corners = true }
map["_upsample_bilinear2d_aa"] = by(function(c)
    if not c.kwargs.output_size or c.kwargs.scales_h or c.kwargs.scales_w then
        m.not_mapped("scales beside a size")
    end
    return R.interpolate(c.args[1], { size = c.kwargs.output_size, mode = "bilinear",
        align_corners = c.kwargs.align_corners, antialias = true })
end)
map["native_layer_norm"] = by(function(c)
    local x, shape, weight, bias, eps = table.unpack(c.args, 1, 5)
    local dims = {}
    for i = 1, #shape do
        dims[i] = -i
    end
    local mean = R.mean(x, { dims = dims, keepdim = true })
    local var = R.var(x, { dims = dims, keepdim = true, correction = 0 })
    local y = R.layer_norm(x, { weight = weight, bias = bias, eps = eps, shape = shape })
    return y, mean, R.rsqrt(R.add(var, eps))
end)
map["native_layer_norm"].sums = true
map["native_group_norm"] = by(function(c)
    local x, weight, bias, n, channels, length, groups, eps = table.unpack(c.args, 1, 8)
    local rows = R.reshape(x, { n, groups, channels * length // groups })
    local var, mean = R.var_mean(rows, { dims = 3, correction = 0 })
    local y = R.group_norm(x, groups, { weight = weight, bias = bias, eps = eps })
    return y, mean, R.rsqrt(R.add(var, eps))
end, nil, 3)

-- (x, weight, bias, running statistics, training, momentum, eps), with what backward would need:
-- mean and scale of the batch, of which there are none but in training.
local function native_batch_norm(x, weight, bias, mean, var, training, momentum, eps)
    local y = R.batch_norm(x, { running_mean = mean, running_var = var, weight = weight,
        bias = bias, training = training, momentum = momentum, eps = eps })
    if not training then
        return y, R.zeros(0), R.zeros(0)
    end
    local dims = { 1 }
    for d = 3, x:dim() do
        dims[#dims + 1] = d
    end
    local batch_var, batch_mean = R.var_mean(x:detach(), { dims = dims, correction = 0 })
    return y, batch_mean, R.rsqrt(R.add(batch_var, eps))
end
for _, name in ipairs { "native_batch_norm", "_native_batch_norm_legit" } do
    map[name] = by(function(c)
        local x, weight, bias, mean, var, training, momentum, eps = table.unpack(c.args, 1, 8)
        if type(mean) == "boolean" then -- the form without running statistics
            mean, var, training, momentum, eps = nil, nil, mean, var, training
        end
        return native_batch_norm(x, weight, bias, mean, var, training, momentum, eps)
    end)
    map[name].sums = true
end
map["_batch_norm_with_update"] = by(function(c)
    local x, weight, bias, mean, var, momentum, eps = table.unpack(c.args, 1, 7)
    local y, batch_mean, scale = native_batch_norm(x, weight, bias, mean, var, true, momentum, eps)
    return y, batch_mean, scale, R.zeros(0, { dtype = "u8" })
end)
map["_batch_norm_with_update"].sums = true

map["torch.ops.aten._scaled_dot_product_flash_attention_for_cpu"] = by(function(c)
    local q, k, v = table.unpack(c.args)
    local scores = R.div(R.matmul(q, R.transpose(k)), math.sqrt(q:size(-1)))
    if c.kwargs.is_causal then
        local keep = R.tril(R.ones_like(scores:detach()))
        scores = R.masked_fill(scores, R.eq(keep, 0), -math.huge)
    end
    if c.kwargs.attn_mask then
        scores = R.add(scores, c.kwargs.attn_mask)
    end
    local y = R.scaled_dot_product_attention(q, k, v, { causal = c.kwargs.is_causal,
        mask = c.kwargs.attn_mask })
    return y, R.logsumexp(scores, -1)
end, nil, 2)

return map
