-- product(x, weight, bias, scalings): x @ weight^T + bias with the factors of all three products in
-- eight bits: f8_e4m3 on the way forward, f8_e5m2, which reaches further, for the gradient that
-- comes back. What backward needs is kept in eight bits, too. scalings.x, .weight and .gradient
-- turn a tensor into codes and a scale.
local rille = require "rille"

local function rows_of(t, width)
  return t:reshape(t:numel() // math.max(width, 1), width)
end

return rille.Function {
  forward = function(ctx, x, weight, bias, scalings, dtype)
    local x8, x_scale = scalings.x(rows_of(x, weight:size(2)))
    local w8, w_scale = scalings.weight(weight)
    ctx:save(x8, x_scale, w8, w_scale)
    ctx.scale_gradient, ctx.shape, ctx.has_bias = scalings.gradient, x:shape(), bias ~= nil
    ctx.dtypes = { x = x.dtype, weight = weight.dtype, bias = bias and bias.dtype }
    local y = rille.scaled_mm(x8, w8:t(), {
      scale_a = x_scale, scale_b = w_scale, bias = bias, dtype = dtype,
    })
    local shape = x:shape()
    shape[#shape] = weight:size(1)
    return y:reshape(shape)
  end,

  backward = function(ctx, dy)
    local x8, x_scale, w8, w_scale = ctx:saved()
    local rows = rows_of(dy, w8:size(1))
    local dy8, dy_scale = ctx.scale_gradient(rows)
    local dx, dweight, dbias
    if ctx.needs[1] then
      dx = rille.scaled_mm(dy8, w8, {
        scale_a = dy_scale, scale_b = w_scale, dtype = ctx.dtypes.x,
      }):reshape(ctx.shape)
    end
    if ctx.needs[2] then
      dweight = rille.scaled_mm(dy8:t(), x8, {
        scale_a = dy_scale, scale_b = x_scale, dtype = ctx.dtypes.weight,
      })
    end
    if not ctx.has_bias then return dx, dweight end
    if ctx.needs[3] then dbias = rows:sum(1, { dtype = ctx.dtypes.bias }) end
    return dx, dweight, dbias
  end,
}
