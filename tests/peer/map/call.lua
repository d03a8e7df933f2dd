-- How a torch call becomes a call of Rille: combinators that the tables of this folder are made of.
--
-- A mapping is { run = function(call) -> results... } with, where needed, random = function(call):
-- whether only shapes and dtypes can be compared; slack: a factor of the limits; sums: limits scale
-- with the arguments too; wrong_there: the gradients, by position, that torch itself has wrong;
-- part = function(call, position, gradient): the part of a gradient that has a meaning;
-- either_sign: results may have the other sign.
-- A call holds what torch was given, converted: call.args (n of them), call.kwargs; None is absent.
-- Dims and positions in it still count from 0; `op` shifts them by the kind of the field they fill.

local rille = require "rille"

local M = {}

-- Stands for None inside a list, where nil would leave a hole.
M.none = setmetatable({}, { __name = "none" })

local known = {}
for _, info in ipairs(rille.ops()) do
    known[info.name] = info
end

function M.not_mapped(reason, ...)
    error({ not_mapped = string.format(reason, ...) }, 0)
end

-- The functions of Rille; one that is not there makes the case count as not mapped.
M.rille = setmetatable({}, {
    __index = function(_, name)
        local found, value = pcall(function() return rille[name] end)
        if not found then
            M.not_mapped("Rille has no %s", name)
        end
        return value
    end,
})

-- A dim or position from 0 as one from 1; from the end stays.
function M.from_one(value)
    if type(value) == "table" then
        local list = {}
        for i, v in ipairs(value) do
            list[i] = M.from_one(v)
        end
        return list
    end
    return math.type(value) == "integer" and value >= 0 and value + 1 or value
end

local function is_tensor(value)
    return type(value) == "userdata"
end
M.is_tensor = is_tensor

-- One torch value in the form that a field of Rille takes.
local function convert(field, value)
    local takes = field.takes
    if type(value) == "boolean" and not takes:find("true or false", 1, true) then
        return value and 1 or 0
    end
    if takes:find("^a dim") or takes:find("^a position") then
        if is_tensor(value) then
            value = value:item()
        end
        return M.from_one(value)
    end
    if takes:find("^a number$") and is_tensor(value) then
        if value:numel() ~= 1 then
            M.not_mapped("several numbers as '%s'", field.name)
        end
        return value:item()
    end
    return value
end

-- Torch's names of keyword arguments, where Rille's fields are called otherwise.
local kAliases = {
    dim = { "dims" }, dims = { "dim" }, axis = { "dim", "dims" }, input = { "x" }, self = { "x" },
    other = { "y" }, rounding_mode = { "rounding" }, kernel_size = { "kernel" },
    output_size = { "size" }, start_dim = { "start" }, end_dim = { "end" },
    storage_offset = { "offset" }, ignore_index = { "ignore" }, is_causal = { "causal" },
    dropout_p = { "dropout" }, enable_gqa = { "groups" }, attn_mask = { "mask" },
    scale_grad_by_freq = { "scale_by_frequency" }, padding_idx = { "padding" },
    upscale_factor = { "factor" }, downscale_factor = { "factor" }, norm_type = { "norm" },
    running_mean = { "mean" }, running_var = { "var" },
    normalized_shape = { "shape" }, fill_value = { "value" }, exponent = { "y" },
    num_groups = { "groups" }, diagonal = { "k", "offset" },
}

-- What only says where or how torch keeps the result.
local kIgnored = { device = true, requires_grad = true, layout = true, out = true }

local function field_of(info, name, rename)
    local wanted = { rename[name] or name, table.unpack(kAliases[name] or {}) }
    for _, candidate in ipairs(wanted) do
        for _, field in ipairs(info.fields) do
            if field.name == candidate then
                return field
            end
        end
    end
    M.not_mapped("%s has no '%s'", info.name, name)
end

-- The values of a call by the fields of an op.
local function values_of(info, call, how)
    local values = {}
    for i = 1, call.n do
        local field = how.order and field_of(info, how.order[i] or "?", {})
            or info.fields[i]
        if not field then
            M.not_mapped("%s takes no argument %d", info.name, i)
        end
        if call.args[i] ~= nil then
            values[field.name] = convert(field, call.args[i])
        end
    end
    for name, value in pairs(call.kwargs) do
        if not kIgnored[name] and not (how.drop and how.drop[name]) then
            local field = field_of(info, name, how.rename or {})
            values[field.name] = convert(field, value)
        end
    end
    for name, value in pairs(how.fixed or {}) do
        values[name] = value
    end
    return values
end

-- Calls the op: required fields by position, the others in one table.
function M.invoke(info, values)
    local positional, count, options = {}, 0, {}
    for _, field in ipairs(info.fields) do
        if field.required then
            count = count + 1
            positional[count] = values[field.name]
        else
            options[field.name] = values[field.name]
        end
    end
    if next(options) then
        count = count + 1
        positional[count] = options
    end
    return M.rille[info.name](table.unpack(positional, 1, count))
end

-- The op of that name. how.order names the fields of torch's positional arguments where they are
-- not those of Rille in order; how.rename, how.drop, how.fixed are about keyword arguments;
-- how.before changes the call first, how.after the results.
function M.op(name, how)
    how = how or {}
    local function run(call)
        local info = known[name] or M.not_mapped("Rille has no %s", name)
        if how.before then
            how.before(call)
        end
        local values = values_of(info, call, how)
        if how.after then
            return how.after(M.invoke(info, values))
        end
        return M.invoke(info, values)
    end
    return { run = run, random = how.random, slack = how.slack, part = how.part,
        wrong_there = how.wrong_there, either_sign = how.either_sign, sums = how.sums }
end

-- A function of the call, for what one op does not say.
function M.by(run, random, slack)
    return { run = run, random = random, slack = slack }
end

-- The same mapping for several torch names.
function M.each(map, names, make)
    for _, name in ipairs(names) do
        map[name] = make and make(name) or M.op(name)
    end
    return map
end

-- Results beyond what torch gives are none of its concern.
function M.first(...)
    return (...)
end

function M.contiguous(...)
    local results = { ... }
    for i, result in ipairs(results) do
        results[i] = M.rille.clone(result)
    end
    return table.unpack(results)
end

function M.always()
    return true
end

return M
