-- amp.f8.convert(model): the Linear layers in it become f8.Linear. They stay the same objects with
-- the same parameters, so optimizers, hooks and whoever holds a layer go on as before.
local fail = require "rille.fail"
local layers = require "rille.nn.layers"
local module = require "rille.nn.module"
local read_options = require "rille.options"
local f8 = require "rille.amp.f8.linear"

local known = {
  { "skip", type = "string[]", doc = "names of modules to leave as they are, with all inside" },
  { "scaling", "current", type = '"current"|"delayed"', doc = "scales of now or of the past" },
  { "history", 16, type = "integer", min = 1, doc = "calls that delayed scaling remembers" },
}

local function is_under(name, top)
  return name == top or name:sub(1, #top + 1) == top .. "."
end

local function check_skip(skip, names)
  local there = {}
  for _, name in ipairs(names) do there[name] = true end
  for _, top in ipairs(skip) do
    if not there[top] then fail.unknown("f8.convert", "module", top, names) end
  end
end

local function is_skipped(name, skip)
  for _, top in ipairs(skip) do
    if is_under(name, top) then return true end
  end
end

local convert = {}

--: model: rille.nn.Module -> rille.nn.Module
function convert.convert(model, options)
  if not module.is_module(model) then fail.type("f8.convert", "model", "a module", model) end
  local o, names, parts = read_options("f8.convert", options, known), {}, {}
  local skip = o.skip or {}
  for name, part in model:named_modules() do
    names[#names + 1], parts[#parts + 1] = name, part
  end
  check_skip(skip, names)
  for i, part in ipairs(parts) do
    if module.class_of(part) == layers.Linear and not is_skipped(names[i], skip) then
      module.become(part, f8.Linear)
      part:scale_by(o.scaling, o.history)
    end
  end
  return model
end

return convert
