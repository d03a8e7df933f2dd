-- `rille check`: what is wrong with a script, found without computing: its syntax, its names, and
-- of a recipe a setup, a step and an evaluation on meta.
local native = require "rille.native"
local declared = require "rille.plan.declared"
local fail = require "rille.fail"
local meta_run = require "rille.plan.meta_run"
local names = require "rille.plan.names"
local rehearsal = require "rille.rehearsal"
local settings = require "rille.recipe.settings"

local command = {}

local file, source

-- As an error of that line would look. Gives whether there was any.
local function tell(problems)
  local lines = {}
  for line in (source .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  for _, problem in ipairs(problems) do
    local token = problem.token
    local number = ("%4d"):format(token.line)
    local text = lines[token.line]:gsub("\t", " "):gsub("\r", "")
    io.stderr:write(native.reported(("%s:%d: %s\n%s | %s\n%s | %s^%s\n"):format(file, token.line,
      problem.message, number, text, (" "):rep(#number), (" "):rep(token.column - 1),
      ("~"):rep(#token.text - 1))))
  end
  return problems[1] ~= nil
end

local function without_run(why)
  print(("%s: ok: syntax and names; %s,\nso options, shapes and dtypes were not checked"):format(
    native.shown(file), why))
end

-- A script that trains in a loop of its own is not begun. One that can't be read is told of by who
-- runs it.
function command.begin(path)
  file, source = path, declared.read(path)
  if not source then return end
  local compiles, message = declared.compiles(source, path)
  if not compiles then
    io.stderr:write(native.reported(message), "\n")
    fail.exit(1)
  end
  if tell(names.unknown_members(source)) then fail.exit(1) end
  if not declared.gives_recipe(source) then
    without_run "it gives no recipe and was not run"
    fail.exit(0)
  end
end

function command.without_recipe()
  without_run "it gave no recipe"
end

local function rehearse(recipe, values)
  local run, err = meta_run.set_up(recipe, values, {})
  if not run then error(err, 0) end
  meta_run.step(run)
  if run.fields.evaluate then meta_run.evaluate(run) end
end

local function with_traceback(err)
  return type(err) == "string" and debug.traceback(err, 2) or err
end

-- Gives the exit status.
function command.carry_out(recipe, words, script)
  local values, help = settings.read(recipe, words)
  if not values then
    print(("usage: rille check %s [flags]\n%s"):format(script or recipe.name, help))
    return 0
  end
  local fine, err = xpcall(rehearsal.within, with_traceback, rehearse, recipe, values)
  if not fine and type(err) == "string" then
    io.stderr:write(native.reported(err), "\n")
    return 1
  elseif not fine and not rehearsal.is_refused(err) then
    error(err, 0)
  end
  if script and source and tell(names.unknown_globals(source)) then return 1 end
  local shown = native.shown(script or recipe.name)
  if fine then
    print(("%s: ok: syntax, names, setup, a step%s"):format(shown,
      recipe.evaluate and ", an evaluation" or ""))
  else
    print(("%s: ok: syntax, names; the rest only up to a line that can't run on meta:\n%s"):format(
      shown, native.reported(tostring(err))))
  end
  return 0
end

return command
