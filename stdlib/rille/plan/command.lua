-- `rille plan`: a recipe's first steps on meta in each setting, told as a table.
local fail = require "rille.fail"
local choices = require "rille.plan.choices"
local declared = require "rille.plan.declared"
local plan_flags = require "rille.plan.flags"
local rehearse = require "rille.plan.rehearse"
local show = require "rille.plan.show"

local command = {}

local function refuse_script(file)
  fail.usage("plan", ("'%s' returns no recipe"):format(file),
    "rille.tune.batch_size does this for a plain script")
end

-- A script that trains in a loop of its own is not begun.
function command.begin(file, words)
  plan_flags.begin(words)
  local source = declared.read(file)
  if source and declared.compiles(source, file) and not declared.gives_recipe(source) then
    refuse_script(file)
  end
end

command.without_recipe = refuse_script

-- What a process adds for the others: the gradients once more, on their way.
local function with_processes(row, nproc)
  row.buckets = nproc > 1 and row.gradients or 0
  row.peak = row.peak + row.buckets
  return row
end

-- The script's own words go to standard error, those of its first setup only.
local function aside(f, ...)
  local before = print
  local quiet = false
  _G.print = function(...)
    if quiet then return end
    local words = table.pack(...)
    for i = 1, words.n do words[i] = tostring(words[i]) end
    io.stderr:write(table.concat(words, "\t"), "\n")
  end
  local _ <close> = setmetatable({}, { __close = function() _G.print = before end })
  return f(function() quiet = true end, ...)
end

local function collect(hush, recipe, values, nproc)
  local rows, refused, base = {}, {}, {}
  for _, choice in ipairs(choices.of(recipe, values)) do
    local row, err = rehearse(recipe, values, choice)
    hush()
    if row then
      row.amp, row.blocks, row.default = choice.amp, choice.blocks, choice.default
      if not choice.blocks then base[choice.amp] = row.flops end
      row.extra = row.flops - (base[choice.amp] or row.flops)
      rows[#rows + 1] = with_processes(row, nproc)
    elseif choice.default then
      error(err, 0)
    elseif not refused[err.message] then
      refused[err.message] = true
      refused[#refused + 1] = err.message
    end
  end
  return rows, refused
end

-- Gives the exit status: 1 where nothing fits into the memory.
function command.carry_out(recipe, words, script)
  local values, asked = plan_flags.read(recipe, words)
  if not values then
    print(("usage: rille plan %s [flags]\n%s"):format(script or recipe.name, asked))
    return 0
  end
  local rows, refused = aside(collect, recipe, values, asked.nproc)
  local plan = {
    recipe = recipe.name, script = script, rows = rows, refused = refused, nproc = asked.nproc,
    memory = asked.memory,
  }
  if plan.memory then plan.best, plan.smallest = choices.cheapest(rows, plan.memory) end
  show[asked.json and "json" or "text"](plan)
  return plan.memory and not plan.best and 1 or 0
end

return command
