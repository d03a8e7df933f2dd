-- Compares two tensors: dtype, shape, then every value.

local call_map = require "map.call"

-- Steps of the result's own format, where that is coarser than the limits.
local kSteps = { f16 = 1e-3, bf16 = 8e-3 }
-- Values that are all below this are held to no finer steps.
local kLeastScale = 0.01
local kShown = 4

local function numbers(tensor)
    local list = tensor:detach():to("f64"):flatten():tolist()
    return type(list) == "table" and list or { list }
end

local function shape_text(tensor)
    return tensor.dtype .. "[" .. table.concat(tensor:shape(), ", ") .. "]"
end

local function shortened(list)
    local parts = {}
    for i = 1, math.min(kShown, #list) do
        parts[i] = string.format("%.7g", list[i])
    end
    return "{" .. table.concat(parts, ", ") .. (#list > kShown and ", ..." or "") .. "}"
end

-- The largest finite size in a list.
local function largest(list)
    local best = 0
    for _, v in ipairs(list) do
        local size = math.abs(v)
        if size > best and size < math.huge then
            best = size
        end
    end
    return best
end

-- The first difference as text, or nil. limits.scale is the size of the terms
-- of a sum, whose steps it rounds by.
local function difference(label, got, want, limits)
    if not call_map.is_tensor(got) then
        return string.format("%s: got %s, want %s", label, tostring(got), shape_text(want))
    end
    if shape_text(got) ~= shape_text(want) then
        return string.format("%s: got %s, want %s", label, shape_text(got), shape_text(want))
    end
    if limits.shape_only then
        return nil
    end
    local a, b = numbers(got), numbers(want)
    local slack = limits.slack or 1
    local rtol = slack * math.max(limits.rtol, kSteps[want.dtype] or 0)
    local atol = slack * limits.atol * math.max(kLeastScale, limits.scale or 0, largest(b))
    for i, w in ipairs(b) do
        local g = a[i]
        local same = g == w or (g ~= g and w ~= w) or math.abs(g - w) <= rtol * math.abs(w) + atol
        if not same then
            return string.format("%s: at %d got %.8g, want %.8g\n      got  %s\n      want %s",
                label, i - 1, g, w, shortened(a), shortened(b))
        end
    end
end

-- The largest size among some tensors.
local function scale_of(tensors)
    local scale = 0
    for _, tensor in ipairs(tensors) do
        scale = math.max(scale, largest(numbers(tensor)))
    end
    return scale
end

return { difference = difference, scale_of = scale_of }
