-- The recipe's field `checkpoint_blocks` and the flag --checkpoint-blocks: which modules of a run
-- are checkpoint blocks, and with which policy.
local containers = require "rille.nn.containers"
local fail = require "rille.fail"
local module = require "rille.nn.module"
local objects = require "rille.recipe.objects"

local blocks = {}

local function is_list(m)
  local class = module.class_of(m)
  return class == containers.ModuleList or class == containers.Sequential
end

local function is_composed(m) return m:named_children()() ~= nil end

-- The outermost members of lists that have modules of their own: layers of a transformer, stages
-- of a residual net.
local function find(m, found, seen)
  if seen[m] then return end
  seen[m] = true
  for _, child in m:named_children() do
    if is_list(m) and is_composed(child) and not is_list(child) then
      if not seen[child] then found[#found + 1] = child end
      seen[child] = true
    else
      find(child, found, seen)
    end
  end
end

-- Options of rille.checkpointer for what the field or the flag says; nil where it says no.
function blocks.options(wanted)
  if wanted == nil or wanted == false or wanted == "off" or wanted == "false" then return nil end
  if wanted == true or wanted == "true" then return {} end
  if type(wanted) == "table" then return wanted end
  local number = tonumber(wanted)
  if number then return { policy = "budget", budget = number } end
  return { policy = wanted }
end

-- Makes the model's blocks checkpoint blocks, after setup.
function blocks.set_up(run)
  local options = blocks.options(run.fields.checkpoint_blocks)
  if not options then return end
  local found, seen = {}, {}
  for _, m in ipairs(objects.modules(run.self)) do find(m, found, seen) end
  if #found == 0 then
    fail.state("recipe", "checkpoint_blocks finds no blocks: %s",
      "no ModuleList or Sequential of the model has members that are made of modules")
  end
  local block
  block, run.block_report = require "rille.checkpoint".checkpointer(options)
  for _, m in ipairs(found) do require "rille.nn.checkpoint".Checkpoint(m, block) end
  run.blocks = found
end

return blocks
