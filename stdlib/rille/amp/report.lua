-- amp.report(model): what number formats would do to a model in training, seen while it trains.
--   do
--     local report <close> = amp.report(model)
--     ... forward, backward ...
--   end
--   print(amp.report())                                  -- the one that was begun last
-- With a function it runs that and returns the report.
local class = require "rille.class"
local advice = require "rille.amp.advice"
local draw = require "rille.amp.draw"
local fail = require "rille.fail"
local FloatStats = require "rille.amp.float_stats"
local is_module = require "rille.nn.module".is_module
local observe = require "rille.amp.observe"
local read_options = require "rille.options"

local kinds = { "weights", "activations", "activation gradients", "weight gradients" }

local Report = class "Report"

-- Takes the hooks off the model and looks at its weights.
function Report:stop()
  self.finish()
end

-- What was seen: a list of { layer, values, tensors, stats }.
--: -> table[]
function Report:rows()
  local rows = {}
  for _, layer in ipairs(self.layers) do
    for _, kind in ipairs(kinds) do
      local seen = layer[kind]
      if seen then
        rows[#rows + 1] = {
          layer = layer.name, values = kind, tensors = seen.tensors, stats = seen.stats,
        }
      end
    end
  end
  return rows
end

-- The dtype to train in, whether with a GradScaler, and a list of { layer, dtype, text } where a
-- layer needs something else than plain f16; the worst first.
--: -> rille.dtype, boolean, table[]
function Report:advice()
  return advice(self.layers)
end

-- The same values as pictures.
--: -> string
function Report:histogram()
  local rows = {}
  for i, row in ipairs(self:rows()) do
    rows[i] = { label = row.layer .. " " .. row.values, stats = row.stats }
  end
  return draw(rows, "f16")
end

Report.__close = Report.stop

local function exponents_text(stats)
  if not stats.min_exponent then return "all 0" end
  return ("2^%d to 2^%d"):format(stats.min_exponent, stats.max_exponent)
end

function Report:__tostring()
  local cells = { { "layer", "values", "tensors", "magnitudes", "zero", "f16: to 0", "beyond",
    "inf", "nan" } }
  for _, row in ipairs(self:rows()) do
    local s = row.stats
    cells[#cells + 1] = {
      row.layer, row.values, tostring(row.tensors), exponents_text(s),
      FloatStats.percent(s.zeros / math.max(s.numel, 1)), FloatStats.percent(s.f16.flush),
      FloatStats.percent(s.f16.overflow), tostring(s.inf), tostring(s.nan),
    }
  end
  local widths, lines = {}, {}
  for _, row in ipairs(cells) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  for k, row in ipairs(cells) do
    for i, cell in ipairs(row) do
      local side = (i <= 2 or i == 4) and "-" or ""
      row[i] = ("%" .. side .. widths[i] .. "s"):format(cell)
    end
    lines[k] = table.concat(row, "  "):gsub("%s+$", "")
  end
  local dtype, scaler, list = self:advice()
  lines[#lines + 1] = ("use %s%s"):format(dtype, scaler and " with a GradScaler" or "")
  for _, entry in ipairs(list) do
    lines[#lines + 1] = ("  %s: %s"):format(entry.layer, entry.text)
  end
  return table.concat(lines, "\n")
end

local begun = require "rille.run_state" {}   -- latest: the report

local function begin(model, every)
  if not is_module(model) then fail.type("report", "model", "a module", model) end
  local layers, finish = observe(model, every)
  begun.latest = setmetatable({ layers = layers, finish = finish }, Report)
  return begun.latest
end

local function run(report, fn, ...)
  local _ <close> = report
  fn(...)
  return report
end

-- Begins to look at a model: a <close> value, or with a function its report; without a model the
-- report that was begun last.
--: model?: rille.nn.Module, options?: table, fn?: fun(...): any -> table
return function(model, options, fn, ...)
  if model == nil then
    if not begun.latest then
      fail.state("report", "nothing was observed yet: amp.report(model) begins it")
    end
    return begun.latest
  end
  if type(options) == "function" then return run(begin(model, 1), options, fn, ...) end
  local o = read_options("report", options, {
    { "every", 1, type = "integer", min = 1, doc = "looks at one in so many calls of a layer" },
  })
  if fn == nil then return begin(model, o.every) end
  return run(begin(model, o.every), fn, ...)
end
