-- Replays a pack of PyTorch operator cases and compares results and gradients.
--
--     rille run tests/peer/replay.lua PACK_DIR [NAME_PATTERN]
--
-- PACK_DIR holds cases.lua and cases.safetensors. map/*.lua say how each torch operator is called
-- here; with a pattern, only the operators that match are replayed, and what is not mapped says
-- why. Exits with 1 where a case fails.

local folder = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/?.lua;" .. package.path

local rille = require "rille"
local compare = require "map.compare"
local packs = require "map.pack"

local kFamilies = { "pointwise", "reduction", "shape", "indexing", "create", "linalg", "network",
    "loss", "masked" }
local kResult = { rtol = 1e-5, atol = 1e-6 }
local kGradient = { rtol = 1e-4, atol = 1e-5 }

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

local function limits(base, mapping, scale, random)
    return { rtol = base.rtol, atol = base.atol, scale = scale, slack = mapping.slack,
        shape_only = random }
end

-- A result that reaches no leaf has the gradient zero, as torch's null has.
local function compare_gradients(pack, case, mapping, call, outputs, leaves, scale)
    for i, which in ipairs(case.differentiable) do
        if outputs[which + 1].requires_grad then
            outputs[which + 1]:backward(pack:get(case.cotangents[i]), { retain_graph = true })
        end
    end
    local wrong_there = mapping.wrong_there or {}
    local part = mapping.part or function(_, _, gradient) return gradient end
    for i, leaf in ipairs(leaves) do
        local want = case.grads[i]
        if want and want ~= pack.null and not wrong_there[i] then
            local expected = pack:get(want)
            local got = leaf.tensor.grad or rille.zeros_like(expected)
            local message = compare.difference("gradient " .. i, part(call, i, got),
                part(call, i, expected), limits(kGradient, mapping, scale))
            if message then
                return message
            end
        end
    end
end

-- What differs, or nil.
local function replay(pack, mapping, case)
    local call, leaves = pack:call(case)
    local random = mapping.random and mapping.random(call)
    local scale = mapping.sums and compare.scale_of(call.tensors)
    local outputs = { mapping.run(call) }
    if #outputs == 1 and type(outputs[1]) == "table" then
        outputs = outputs[1]
    end
    local turned = false
    for i, name in ipairs(case.outputs) do
        local want, allowed = pack:get(name), limits(kResult, mapping, scale, random)
        local message = compare.difference("result " .. i, outputs[i], want, allowed)
        if message and mapping.either_sign then
            turned = true
            message = compare.difference("size of result " .. i, rille.abs(outputs[i]),
                rille.abs(want), allowed)
        end
        if message then
            return message
        end
    end
    if case.differentiable and not random and not turned then
        return compare_gradients(pack, case, mapping, call, outputs, leaves, scale)
    end
end

-- "passed", "failed" or "skipped", and why.
local function outcome_of(pack, mapping, case)
    if not mapping then
        return "skipped", "no entry"
    end
    local ran, message = pcall(replay, pack, mapping, case)
    if not ran and type(message) == "table" and message.not_mapped then
        return "skipped", message.not_mapped
    end
    if ran and not message then
        return "passed"
    end
    return "failed", (tostring(message):gsub("\n%s*%d* |.*", ""))
end

local function names_of(pack, pattern)
    local names = {}
    for name in pairs(pack.ops) do
        if not pattern or name:find(pattern) then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

local function main(path, pattern)
    local pack, map = packs.open(path), mappings()
    local names = names_of(pack, pattern)
    local count, mapped = { passed = 0, failed = 0, skipped = 0 }, {}
    for _, name in ipairs(names) do
        for _, case in ipairs(pack.ops[name]) do
            local outcome, why = outcome_of(pack, map[name], case)
            count[outcome] = count[outcome] + 1
            if outcome ~= "skipped" then
                mapped[#mapped + (mapped[#mapped] == name and 0 or 1)] = name
            end
            if outcome == "failed" then
                print(string.format("FAILED %s/%s: %s", name, case.id, why))
            elseif pattern and outcome == "skipped" then
                print(string.format("not mapped %s/%s: %s", name, case.id, why))
            end
        end
    end
    print(string.format("%d of %d operators mapped", #mapped, #names))
    print(string.format("%d passed, %d failed, %d not mapped", count.passed, count.failed,
        count.skipped))
    return count.failed == 0
end

if not arg[1] then
    print("usage: rille run replay.lua PACK_DIR [NAME_PATTERN]")
    os.exit(2)
end
os.exit(main(arg[1], arg[2]) and 0 or 1)
