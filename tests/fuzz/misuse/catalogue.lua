-- What the library has, read from the files that `rille help --luacats DIR` writes for editors:
-- functions, classes that are called, methods, and the options that each takes.
local catalogue = {}

-- "string|integer[]" and what follows the name in "---@param name? type words".
local function parameter(line)
  local name, rest = line:match "^%-%-%-@%w+ ([%w_%.]+)%?? (.+)$"
  if not name then return nil end
  local kind = rest:match "^%b()" or rest:match "^fun%b():?%s?%S*" or rest:match "^%S+"
  return { name = name, kind = kind }
end

local function split(list)
  local names = {}
  for name in list:gmatch "[%w_%.]+" do names[#names + 1] = name end
  return names
end

local Reader = {}
Reader.__index = Reader

function Reader:add(entry)
  entry.kinds = entry.kinds or self.kinds
  self.out[#self.out + 1] = entry
end

-- "fun(in_: integer, out: integer, options?: rille.nn.Linear.options): rille.nn.Linear"
local function overload(text)
  local inner = text:match "^fun(%b())"
  if not inner then return {}, {} end
  local names, kinds = {}, {}
  for name, kind in inner:sub(2, -2):gmatch "([%w_]+)%??: ([^,]+)" do
    names[#names + 1] = name
    kinds[name] = kind
  end
  return names, kinds
end

function Reader:line(line)
  local class = line:match "^%-%-%-@class ([%w_%.]+)"
  if class then
    self.class, self.kinds, self.overload = class, {}, nil
    self.classes[class] = self.classes[class] or {}
  elseif line:find "^%-%-%-@field" then
    local p = parameter(line)
    if p and self.class then table.insert(self.classes[self.class], p) end
  elseif line:find "^%-%-%-@param" then
    local p = parameter(line)
    if p then self.kinds[p.name] = p.kind end
  elseif line:find "^%-%-%-@overload" then
    self.overload = self.overload or line:match "^%-%-%-@overload (.+)$"
  elseif line:find "^function " then
    local holder, sign, name, list = line:match "^function ([%w_%.]+)([%.:])([%w_]+)%((.-)%) end"
    self:add { holder = holder, method = sign == ":", name = name, params = split(list) }
    self.kinds, self.overload = {}, nil
  elseif self.overload and line:find "^M%.[%w_]+ = {}" then
    local names, kinds = overload(self.overload)
    self:add { holder = "M", name = line:match "^M%.([%w_]+)", params = names, kinds = kinds,
      class = self.class }
    self.kinds, self.overload = {}, nil
  end
end

-- All entries of the files in that folder: { path, method, name, params, kinds, owner }.
function catalogue.read(folder, files)
  local classes, all = {}, {}
  for _, file in ipairs(files) do
    local module = file:match "^(.*)%.d%.lua$"
    local reader = setmetatable({ out = {}, classes = classes, kinds = {} }, Reader)
    for line in io.lines(folder .. "/" .. file) do reader:line(line) end
    for _, e in ipairs(reader.out) do
      local holder = e.holder:gsub("^M%.?", "")
      if e.method then
        e.owner = holder ~= "" and holder or module
        if e.owner == "Tensor" then module = "Tensor" end
      end
      e.module = module
      local place = holder ~= "" and module .. "." .. holder or module
      if module == holder then place = module end
      e.path = place .. (e.method and ":" or ".") .. e.name
      all[#all + 1] = e
    end
  end
  table.sort(all, function(a, b) return a.path < b.path end)
  return all, classes
end

return catalogue
