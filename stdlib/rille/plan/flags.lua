-- The flags of `rille plan`, before the script and behind it.
local fail = require "rille.fail"
local flags = require "rille.flags"
local native = require "rille.native"
local settings = require "rille.recipe.settings"
local sizes = require "rille.sizes"

local plan_flags = {}

local own = {
  memory = { type = "string", help = "what there is, such as 8GiB: which setting fits?" },
  nproc = { type = "integer", min = 1, default = 1, help = "data-parallel processes" },
  json = { type = "boolean", default = false, help = "one JSON object a line" },
}

-- Those that a recipe has, too.
local shared = {
  amp = { type = "string", choices = { "off", "bf16", "f16", "f8" }, help = "only this precision" },
  checkpoint_blocks = { type = "string", help = "only this policy, and none" },
}

local before = {}

-- The words before the script.
function plan_flags.begin(words)
  local spec = {}
  for _, list in ipairs { own, shared } do
    for name, entry in pairs(list) do spec[name] = entry end
  end
  before = flags.parse(flags.declare("plan", spec), words)
end

local function size_of(text)
  local bytes = text and sizes.read(text)
  if text and not bytes then
    fail.usage("--memory", ("'%s' is not a size such as '8GiB'"):format(native.shown(text)))
  end
  return bytes
end

-- The recipe's arguments, and what is asked of the plan: { memory, nproc, json }. Nil and the help
-- text where that is asked for.
function plan_flags.read(recipe, words)
  local values, help = settings.read(recipe, words, own)
  if not values then return nil, help end
  local asked = {}
  for name, entry in pairs(own) do
    asked[name] = before[name]
    if recipe.args == nil or recipe.args[name] == nil then
      if asked[name] == nil then asked[name] = values[name] end
      rawset(values, name, nil)
    end
    if asked[name] == nil then asked[name] = entry.default end
  end
  for name in pairs(shared) do
    if before[name] ~= nil then rawset(values, name, before[name]) end
  end
  asked.memory = size_of(asked.memory)
  return values, asked
end

return plan_flags
