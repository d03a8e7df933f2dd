-- nn.summary(model, shape): a table of modules with output shapes and numbers of parameters.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local module = require "rille.nn.module"

local function shape_text(value)
  if native.is_tensor(value) then return "[" .. table.concat(value:shape(), ", ") .. "]" end
  return type(value)
end

local function count(self)
  local own = 0
  for _, t in self:own_tensors "parameter" do own = own + t:numel() end
  return own
end

local function with_commas(n)
  local text = ("%d"):format(n):reverse():gsub("(%d%d%d)", "%1,"):reverse()
  return (text:gsub("^,", ""))
end

-- Output shape by module, seen while one batch of zeros runs through.
local function output_shapes(model, input)
  local shapes, handles = {}, {}
  for _, part in model:named_modules() do
    handles[#handles + 1] = part:register_forward_hook(function(self, _, output)
      shapes[self] = shape_text(output)
    end)
  end
  local was_training = model.training
  local ok, err = pcall(function()
    local _ <close> = rille.no_grad()
    model:eval()(input)
  end)
  model:train(was_training)
  for _, handle in ipairs(handles) do handle.remove() end
  if not ok then error(err, 0) end
  return shapes
end

local function rows_of(model, shapes)
  local rows, total, trained = {}, 0, 0
  for name, part in model:named_modules() do
    local own = count(part)
    local label = module.class_of(part).__name .. (name == "" and "" or " " .. name)
    rows[#rows + 1] = {
      native.shown(label), shapes[part] or "", own > 0 and with_commas(own) or "",
    }
  end
  for _, t in model:named_parameters() do
    total = total + t:numel()
    if t.requires_grad then trained = trained + t:numel() end
  end
  return rows, total, trained
end

-- `input` is a tensor, a shape (zeros of the default dtype), or nothing (no output shapes).
--: model: rille.nn.Module, input?: rille.Tensor|integer[] -> string
return function(model, input)
  check("summary", "model", model, { type = "rille.nn.Module" })
  if input ~= nil then check("summary", "input", input, { type = "rille.Tensor|integer[]" }) end
  if type(input) == "table" then input = rille.zeros(input, { device = model.device }) end
  local shapes = input and output_shapes(model, input) or {}
  local rows, total, trained = rows_of(model, shapes)
  local widths = { #"module", #"output", #"parameters" }
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i], #cell) end
  end
  local form = ("%%-%ds  %%-%ds  %%%ds"):format(table.unpack(widths))
  local lines = { form:format("module", "output", "parameters") }
  for _, row in ipairs(rows) do
    lines[#lines + 1] = form:format(table.unpack(row)):gsub("%s+$", "")
  end
  lines[#lines + 1] = ("%s parameters, %s trained"):format(with_commas(total), with_commas(trained))
  return table.concat(lines, "\n")
end
