-- A module as a tree of text, one line a module; equal neighbours are told once, with their number.
local native = require "rille.native"
local module = require "rille.nn.module"

local function indent(text)
  return (text:gsub("\n", "\n  "))
end

local function own_line(self)
  return self.describe and self:describe() or nil
end

local function line(names, text)
  local label = names[1]
  if #names > 1 then
    label, text = names[1] .. "-" .. names[#names], #names .. " x " .. text
  end
  return "  (" .. native.shown(label) .. "): " .. indent(text)
end

return function(self)
  local name, lines = native.shown(module.class_of(self).__name), {}
  local names, previous = {}, nil
  for child_name, child in self:named_children() do
    local text = tostring(child)
    if text ~= previous or not tonumber(child_name) then
      if previous then lines[#lines + 1] = line(names, previous) end
      names, previous = {}, text
    end
    names[#names + 1] = child_name
  end
  if previous then lines[#lines + 1] = line(names, previous) end
  local inside = own_line(self)
  if #lines == 0 then return name .. "(" .. (inside or "") .. ")" end
  if inside then table.insert(lines, 1, "  " .. inside) end
  return name .. "(\n" .. table.concat(lines, "\n") .. "\n)"
end
