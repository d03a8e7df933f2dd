-- What is done with a recipe in the place of its run, while `rille plan` or `rille check` reads a
-- script. The shell calls begin before the script and finish after it; rille.recipe.run asks here.
local instead = {}

local commands = { plan = "rille.plan.command", check = "rille.plan.check" }

-- `file` is the script, behind it are the words that stood before it.
function instead.begin(name, file, ...)
  instead.command = require(commands[name])
  instead.command.begin(file, { ... })
end

-- Gives the exit status.
function instead.carry_out(recipe, words, script)
  instead.met = true
  return instead.command.carry_out(recipe, words, script)
end

-- The script has ended.
function instead.finish(file)
  if not instead.met then instead.command.without_recipe(file) end
end

return instead
