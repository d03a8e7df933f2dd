-- amp.histogram(model): in which powers of two the weights of a model and their gradients lie, as
-- text that print and the shell draw.
local native = require "rille.native"
local class = require "rille.class"
local draw = require "rille.amp.draw"
local fail = require "rille.fail"
local FloatStats = require "rille.amp.float_stats"
local is_module = require "rille.nn.module".is_module
local read_options = require "rille.options"

local Histogram = class "Histogram"

function Histogram:__tostring() return draw(self, self.format) end

-- A list of { label, stats }, a parameter or gradient each, that draws itself where it is printed.
--: model: rille.nn.Module -> table
return function(model, options)
  if not is_module(model) then fail.type("histogram", "model", "a module", model) end
  local o = read_options("histogram", options, {
    { "format", "f16", type = '"f16"|"bf16"|"f8_e4m3"|"f8_e5m2"', doc = "whose losses are told" },
  })
  local rows = { format = o.format }
  for name, t in model:named_parameters() do
    local label = native.shown(name)
    rows[#rows + 1] = { label = label, stats = FloatStats.of(t) }
    local grad = t.grad
    if grad then rows[#rows + 1] = { label = label .. " grad", stats = FloatStats.of(grad) } end
  end
  return setmetatable(rows, Histogram)
end
