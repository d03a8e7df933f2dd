-- Every function of some tables of the library, called with values of the wrong type: it may take
-- them, but where it fails, it fails with an error object of ours on a line of ours.
local t = require "support.test"
local rille = require "rille"
local names_of = require "rille.annotations".names_of

local values = { false, "x", -1, {}, 5, 0 / 0, rille.zeros(2), function() end }

-- Each value in the first place and, behind values that may be right, in the second and third;
-- `false` stands for nil.
local function argument_lists()
  local lists = { {} }
  local function add(...) lists[#lists + 1] = table.pack(...) end
  for _, a in ipairs(values) do
    add(a or nil)
    add(a or nil, a or nil)
    add(rille.zeros(2, 3), a or nil)
    add(rille.zeros(2, 3), 1, a or nil)
  end
  return lists
end

local function check(name, f, arguments)
  local fine, err = pcall(f, table.unpack(arguments, 1, arguments.n))
  if fine then return end
  local words = {}
  for i = 1, arguments.n or 0 do words[i] = tostring(arguments[i]) end
  local call = ("%s(%s): %s"):format(name, table.concat(words, ", "), tostring(err))
  t.ok(type(err) ~= "string" and err.code ~= nil and err.kind ~= "internal", call)
  t.ok(not tostring(err):find("^rille:rille%."), call)
end

-- A first argument that is right, so that the others are looked at.
local set = rille.data.table { x = rille.zeros(4, 2) }
local right = {
  ["optim.lr"] = { groups = { { lr = 1.0 } }, step_count = 0 }, data = set,
  ["nn.utils"] = { rille.zeros(2) },
}

local tables = {
  ["nn.init"] = rille.nn.init, ["nn.utils"] = rille.nn.utils, ["optim.lr"] = rille.optim.lr,
  ["data"] = rille.data, ["data.transforms"] = rille.data.transforms,
  ["progress"] = rille.progress,
}

for path, functions in pairs(tables) do
  for _, name in ipairs(names_of(functions)) do
    if type(functions[name]) == "function" then
      t.test(path .. "." .. name, function()
        for _, arguments in ipairs(argument_lists()) do
          check(path .. "." .. name, functions[name], arguments)
        end
        for _, value in ipairs(right[path] and values or {}) do
          check(path .. "." .. name, functions[name], { right[path], value or nil, n = 2 })
        end
      end)
    end
  end
end

t.test("generate", function()
  for _, arguments in ipairs(argument_lists()) do
    check("generate", rille.generate, arguments)
    check("generate", rille.generate, { function() end, { tokens = arguments[1] }, n = 2 })
  end
end)
