-- A pack of cases: cases.lua says what was called, cases.safetensors holds the tensors.

local rille = require "rille"
local call_map = require "map.call"

local Pack = {}
Pack.__index = Pack

local function open_pack(path)
    local file, why = io.open(path .. "/cases.lua")
    if not file then error("this is no pack of cases: " .. why, 0) end
    local text = file:read("a")
    file:close()
    local reach = { setmetatable = setmetatable, math = math }
    local cases = assert(load(text, "=cases.lua", "t", reach))()
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

-- A value of a case as Lua and Rille have it. `seen` notes its tensors, and as leaves those that
-- want a gradient.
function Pack:value(value, seen, inside)
    if type(value) ~= "table" then
        return value
    end
    if value == self.null then
        return inside and call_map.none or nil
    end
    if value.tensor then
        local tensor = self:get(value.tensor)
        seen.tensors[#seen.tensors + 1] = tensor
        if value.grad then
            seen.leaves[#seen.leaves + 1] = { tensor = tensor, name = value.tensor }
        end
        return tensor
    end
    if type(value.dtype) == "string" then
        local real = pcall(function() return rille.zeros(1, { dtype = value.dtype }) end)
        return real and value.dtype or call_map.not_mapped("no dtype %s", value.dtype)
    end
    local copy = {}
    for key in pairs(value) do
        if math.type(key) ~= "integer" then
            call_map.not_mapped("an argument that is a %s", tostring(key))
        end
        copy[key] = false
    end
    for i = 1, #copy do
        copy[i] = self:value(value[i], seen, true)
    end
    return copy
end

-- The call, and the leaves in the order in which torch was given them. A Lua table keeps no order
-- of keyword arguments, the text of the pack does.
function Pack:call(case)
    local tensors = {}
    local given = { tensors = tensors, leaves = {} }
    local named = { tensors = tensors, leaves = {} }
    local call = { n = #case.args, args = {}, kwargs = {}, tensors = tensors }
    for i = 1, call.n do
        call.args[i] = self:value(case.args[i], given)
    end
    for name, value in pairs(case.kwargs) do
        call.kwargs[name] = self:value(value, named)
    end
    local leaves = given.leaves
    if #named.leaves > 1 then
        for _, leaf in ipairs(named.leaves) do
            leaf.at = self.text:find('"' .. leaf.name .. '"', 1, true)
        end
        table.sort(named.leaves, function(a, b) return a.at < b.at end)
    end
    table.move(named.leaves, 1, #named.leaves, #leaves + 1, leaves)
    if case.differentiable then
        for _, leaf in ipairs(leaves) do
            leaf.tensor:requires_grad_()
        end
    end
    return call, leaves
end

return { open = open_pack }
