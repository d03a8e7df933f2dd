-- The constructor of a curve's schedules, under the name that errors call it.
local must_be_optimizer = require "rille.optim.given"
local read_options = require "rille.options"
local Schedule = require "rille.optim.schedule"

return function(name, curve)
  return function(optimizer, options)
    must_be_optimizer(name, optimizer)
    if name == "Lambda" and type(options) == "function" then options = { factor = options } end
    local read = read_options(name, options, curve.options)
    if curve.check then curve.check(read) end
    return Schedule.new(name, curve, optimizer, read)
  end
end
