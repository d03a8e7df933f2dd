-- What can be told of a script without running it: whether it compiles, and whether it gives a
-- recipe or trains in a loop of its own.
local tokens_of = require "rille.plan.tokens"

local declared = {}

-- The text of a script, with its lines where they are; nil where it can't be read.
function declared.read(file)
  local handle = io.open(file, "rb")
  local text = handle and handle:read "a"
  if handle then handle:close() end
  return text and text:gsub("^\xEF\xBB\xBF", ""):gsub("^#[^\n]*", "") or nil
end

-- Whether it compiles, and the message where it doesn't.
function declared.compiles(source, file)
  local chunk, message = load(source, "@" .. file, "t")
  return chunk ~= nil, message
end

local opens = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true }
local closes = { ["end"] = true, ["until"] = true }

-- Whether the script itself returns something, not only a function in it.
local function returns(tokens)
  local depth = 0
  for i, token in ipairs(tokens) do
    if token.kind == "keyword" then
      if opens[token.text] then depth = depth + 1 end
      if closes[token.text] then depth = depth - 1 end
      local after = tokens[i + 1]
      if token.text == "return" and depth == 0 and after and after.text ~= ";" then return true end
    end
  end
  return false
end

local function is_call(token)
  return token and (token.kind == "string" or token.text == "{" or token.text == "(")
end

-- Whether running it gives a recipe: it makes one, or returns what it has from another file. One
-- that calls backward has a loop of its own and would train.
function declared.gives_recipe(source)
  local tokens = tokens_of(source)
  local trains = false
  for i, token in ipairs(tokens) do
    if token.text == "recipe" and is_call(tokens[i + 1]) then return true end
    trains = trains or token.text == "backward"
  end
  return not trains and returns(tokens)
end

return declared
