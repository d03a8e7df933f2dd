-- Replays a pack of PyTorch operator cases and compares results and gradients.
--
--     rille run tests/peer/replay.lua PACK_DIR [NAME_PATTERN]
--
-- PACK_DIR holds cases.lua and cases.safetensors. map/*.lua say how each torch operator is called
-- here. Exits with 1 where a case fails.

local folder = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/?.lua;" .. package.path

local rille = require "rille"
local call_map = require "map.call"

local kFamilies = { "pointwise", "reduction", "shape", "indexing", "create", "linalg", "network",
    "loss" }
local kResult = { rtol = 1e-5, atol = 1e-6 }
local kGradient = { rtol = 1e-4, atol = 1e-5 }
-- Steps of the result's own format, where that is coarser.
local kSteps = { f16 = 1e-3, bf16 = 8e-3 }
local kShown = 4

local function mappings()
    local all = {}
    for _, family in ipairs(kFamilies) do
        for name, mapping in pairs(require("map." .. family)) do
            assert(not all[name], name .. " is mapped twice")
            all[name] = mapping
        end
    end
    return all
end

local Pack = {}
Pack.__index = Pack

local function open_pack(path)
    local file = assert(io.open(path .. "/cases.lua"))
    local text = file:read("a")
    file:close()
    local cases = assert(load(text, "=cases.lua", "t", { setmetatable = setmetatable, math = math }))()
    local tensors = rille.io.safetensors(path .. "/cases.safetensors")
    return setmetatable({ text = text, ops = cases.ops, null = cases.null, tensors = tensors },
        Pack)
end

function Pack:get(name)
    local read, tensor = pcall(function() return self.tensors:get(name) end)
    if not read then
        call_map.not_mapped("%s", tostring(tensor):match("[^\n]*"))
    end
    return tensor
end

-- A value of a case as Lua and Rille have it; tensors that want a gradient are noted in leaves.
function Pack:value(value, leaves, inside)
    if type(value) ~= "table" then
        return value
    end
    if value == self.null then
        return inside and call_map.none or nil
    end
    if value.tensor then
        local tensor = self:get(value.tensor)
        if value.grad then
            tensor:requires_grad_()
            leaves[#leaves + 1] = { tensor = tensor, name = value.tensor }
        end
        return tensor
    end
    if type(value.dtype) == "string" then
        local real = pcall(function() return rille.zeros(1, { dtype = value.dtype }) end)
        return real and value.dtype or call_map.not_mapped("no dtype %s", value.dtype)
    end
    local copy = {}
    for key, item in pairs(value) do
        if math.type(key) ~= "integer" then
            call_map.not_mapped("an argument that is a %s", tostring(key))
        end
        copy[key] = false
    end
    for i = 1, #copy do
        copy[i] = self:value(value[i], leaves, true)
    end
    return copy
end

-- The call, and the leaves in the order in which torch was given them. A Lua table keeps no order
-- of keyword arguments, the text of the pack does.
function Pack:call(case)
    local leaves, named = {}, {}
    local call = { n = #case.args, args = {}, kwargs = {}, outputs = #case.outputs }
    for i = 1, call.n do
        call.args[i] = self:value(case.args[i], leaves)
    end
    for name, value in pairs(case.kwargs) do
        call.kwargs[name] = self:value(value, named)
    end
    if #named > 1 then
        for _, leaf in ipairs(named) do
            leaf.at = self.text:find('"' .. leaf.name .. '"', 1, true)
        end
        table.sort(named, function(a, b) return a.at < b.at end)
    end
    table.move(named, 1, #named, #leaves + 1, leaves)
    return call, leaves
end

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

local function largest(list)
    local best = 1
    for _, v in ipairs(list) do
        local size = math.abs(v)
        if size > best and size < math.huge then
            best = size
        end
    end
    return best
end

-- What differs, or nil. Only shape and dtype count where the values are random.
local function difference(label, got, want, limits, shape_only)
    if not call_map.is_tensor(got) then
        return string.format("%s: got %s, want %s", label, tostring(got), shape_text(want))
    end
    if shape_text(got) ~= shape_text(want) then
        return string.format("%s: got %s, want %s", label, shape_text(got), shape_text(want))
    end
    if shape_only then
        return nil
    end
    local a, b = numbers(got), numbers(want)
    local rtol = math.max(limits.rtol, kSteps[want.dtype] or 0)
    local atol = limits.atol * largest(b)
    for i, w in ipairs(b) do
        local g = a[i]
        local same = g == w or (g ~= g and w ~= w) or math.abs(g - w) <= rtol * math.abs(w) + atol
        if not same then
            return string.format("%s: at %d got %.8g, want %.8g\n      got  %s\n      want %s",
                label, i - 1, g, w, shortened(a), shortened(b))
        end
    end
end

local function compare_gradients(pack, case, outputs, leaves)
    for i, which in ipairs(case.differentiable) do
        if outputs[which + 1].requires_grad then
            outputs[which + 1]:backward(pack:get(case.cotangents[i]), { retain_graph = true })
        end
    end
    for i, leaf in ipairs(leaves) do
        local want = case.grads[i]
        local got = leaf.tensor.grad
        if want and want ~= pack.null then
            local expected = pack:get(want)
            got = got or rille.zeros_like(expected)
            local message = difference("gradient " .. i, got, expected, kGradient)
            if message then
                return message
            end
        end
    end
end

local function replay(pack, mapping, case)
    local call, leaves = pack:call(case)
    local random = mapping.random and mapping.random(call)
    local outputs = { mapping.run(call) }
    if #outputs == 1 and type(outputs[1]) == "table" then
        outputs = outputs[1]
    end
    for i, name in ipairs(case.outputs) do
        local label = "result " .. i
        local message = difference(label, outputs[i], pack:get(name), kResult, random)
        if message then
            return message
        end
    end
    if case.differentiable and not random then
        return compare_gradients(pack, case, outputs, leaves)
    end
end

local function main(path, pattern)
    local pack, map = open_pack(path), mappings()
    local names, count, reached, reasons = {}, { passed = 0, failed = 0, skipped = 0 }, 0, {}
    for name in pairs(pack.ops) do
        names[#names + 1] = (not pattern or name:find(pattern)) and name or nil
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local mapped = false
        for _, case in ipairs(pack.ops[name]) do
            local mapping = map[name] or call_map.by(function() call_map.not_mapped("no entry") end)
            local ran, message = pcall(replay, pack, mapping, case)
            local reason = not ran and type(message) == "table" and message.not_mapped
            local outcome = reason and "skipped" or message and "failed" or "passed"
            count[outcome] = count[outcome] + 1
            mapped = mapped or not reason
            if reason and pattern then
                print(string.format("not mapped %s/%s: %s", name, case.id, reason))
            elseif outcome == "failed" then
                local text = tostring(message):gsub("\n%s*|.*", "")
                print(string.format("FAILED %s/%s: %s", name, case.id, text))
            end
        end
        reached = reached + (mapped and 1 or 0)
    end
    print(string.format("%d of %d operators mapped", reached, #names))
    print(string.format("%d passed, %d failed, %d not mapped", count.passed, count.failed,
        count.skipped))
    return count.failed == 0
end

if not arg[1] then
    print("usage: rille run replay.lua PACK_DIR [NAME_PATTERN]")
    os.exit(2)
end
os.exit(main(arg[1], arg[2]) and 0 or 1)
