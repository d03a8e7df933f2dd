-- The constructor of a curve's schedules, under the name that errors call it.
local fail = require "rille.fail"
local read_options = require "rille.options"
local Schedule = require "rille.optim.schedule"

return function(name, curve)
  return function(optimizer, options)
    if type(optimizer) ~= "table" or type(optimizer.groups) ~= "table" then
      fail.type(name, "optimizer", "an optimizer", optimizer)
    end
    if name == "Lambda" and type(options) == "function" then options = { factor = options } end
    local read = read_options(name, options, curve.options)
    if curve.check then curve.check(read) end
    return Schedule.new(name, curve, optimizer, read)
  end
end
