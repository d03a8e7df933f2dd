-- Every option of constructors and functions, with values that are wrong for most of them: one that
-- is refused is refused with an error object of ours, and what is made of the others works without
-- an error of Lua's own inside the library.
local t = require "support.test"
local rille = require "rille"
local curves = require "rille.optim.curves"
local kinds = require "rille.optim.kinds"
local source = require "rille.annotations.source"

local values = { "x", -1, 0, 5, 0.5, 0 / 0, true, {}, function() end }

local set = rille.data.table { x = rille.zeros(4, 2) }
local ids = rille.arange(1, 20)

local function optimizer() return { groups = { { lr = 1.0 } }, step_count = 0 } end

local function model(seen) return rille.zeros(seen:size(1), seen:size(2), 7) end

local function attempt(call, f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local err = results[2]
  call = ("%s: %s"):format(call, tostring(err))
  t.ok(type(err) ~= "string" and err.code ~= nil and err.kind ~= "internal", call)
  t.ok(not tostring(err):find("^rille:rille%."), call)
end

-- `arguments` and `options` are right; `use` tries what the call gives.
local function sweep(name, f, known, arguments, options, use)
  t.test(name, function()
    t.ok(#known > 0, "options of " .. name)
    for _, option in ipairs(known) do
      for _, value in ipairs(values) do
        local given = {}
        for key, right in pairs(options or {}) do given[key] = right end
        given[option[1]] = value
        local all = table.move(arguments, 1, #arguments, 1, {})
        all[#all + 1] = given
        local call = ("%s { %s = %s }"):format(name, option[1], tostring(value))
        local made = attempt(call, f, table.unpack(all))
        if made ~= nil and use then attempt(call, use, made, call) end
      end
    end
  end)
end

local function rates(schedule, call)
  for step = 0, 7 do
    local rate = schedule:at(step)
    t.ok(rate == rate, call .. " at " .. step)
  end
end

local right_options = {
  Step = { size = 2 }, MultiStep = { milestones = { 2 } }, LinearWarmup = { steps = 3 },
  Exponential = { gamma = 0.5 }, Cosine = { steps = 3 }, CosineRestarts = { steps = 3 },
  OneCycle = { max_lr = 1, steps = 6 }, Cyclic = { base_lr = 0, max_lr = 1 },
  WarmupCosine = { warmup = 2, steps = 6 },
  WarmupStableDecay = { warmup = 2, stable = 2, decay = 2 },
}

for name, curve in pairs(curves) do
  sweep("optim.lr." .. name, rille.optim.lr[name], curve.options, { optimizer() },
    right_options[name], rates)
end

local parameters = { rille.zeros(2, { requires_grad = true }) }
parameters[1]:sum():backward()

for name, kind in pairs(kinds) do
  sweep("optim." .. name, rille.optim[name], kind.options, { parameters }, {},
    function(made) made:step() end)
end

local function of(path, f, arguments, options, use)
  sweep(path, f, source.of(f).options or {}, arguments, options, use)
end

local function all_of(made)
  local count = 0
  for _ in made:iter(1) do
    count = count + 1
    if count == 20 then break end
  end
end

local data, transforms = rille.data, rille.data.transforms
local image = rille.zeros(3, 4, 4)
local function on_image(f) f(image) end

of("data.windows", data.windows, { ids }, { length = 4 }, all_of)
of("data.Random", data.Random, { 5 }, {}, all_of)
of("data.Subset", data.Subset, { { 1, 2 } }, {}, all_of)
of("data.Weighted", data.Weighted, { { 1, 2 }, 2 }, {}, all_of)
of("data.Batch", data.Batch, { data.Sequential(5), 2 }, {}, all_of)
of("data.LengthBucket", data.LengthBucket, { { 1, 2, 3 } }, { batch = 2 }, all_of)
of("data.DistributedSampler", data.DistributedSampler, { 5 }, {}, all_of)
of("data.split", data.split, { set, { 0.5, 0.5 } })
of("data.pad_collate", data.pad_collate, {}, {}, function(f)
  f({ rille.zeros(2), rille.zeros(3) }, { 1, 2 })
end)
of("data.Loader", data.Loader, { set }, {}, function(loader)
  local options = loader.options
  local callback = options.transform or options.collate or options.worker_init
  if options.workers == 0 and not callback then all_of(loader) end
end)
of("transforms.random_crop", transforms.random_crop, { 2 }, {}, on_image)
of("transforms.random_flip", transforms.random_flip, {}, {}, on_image)
of("transforms.resize", transforms.resize, { 2 }, {}, on_image)
of("transforms.color_jitter", transforms.color_jitter, {}, {}, on_image)
of("transforms.erase", transforms.erase, {}, { p = 1.0 }, on_image)
of("nn.clip_grad_norm_", rille.nn.clip_grad_norm_, { parameters, 1 })
of("generate", rille.generate, { model }, { tokens = 1 })
of("amp.GradScaler", rille.amp.GradScaler, {}, {}, function(scaler) scaler:scale(rille.ones(1)) end)
