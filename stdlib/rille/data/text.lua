-- data.text(path): a text as ids of its characters (UTF-8), 0 for the first in sorted order.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"

local Text = class "data.text"

local function make(ids, symbols, numbers)
  return setmetatable({ ids = ids, symbols = symbols, numbers = numbers, vocab = #symbols }, Text)
end

-- A text as ids of its characters (UTF-8): .ids, .vocab, encode(text), decode(ids),
-- split(fraction).
--: path: string -> rille.data.Set
function Text.new(path)
  local ids, symbols = native.text(path)
  local numbers = {}
  for i, symbol in ipairs(symbols) do numbers[symbol] = i - 1 end
  return make(ids, symbols, numbers)
end

-- A tensor of ids.
function Text:encode(text)
  check("encode", "text", text, { type = "string" })
  local ids = {}
  for symbol in text:gmatch(utf8.charpattern) do
    local id = self.numbers[symbol]
    if not id then fail.argument("encode", "'%s' is not in the vocabulary", symbol) end
    ids[#ids + 1] = id
  end
  return rille.tensor(ids, { dtype = "i64" })
end

-- The text of a tensor or list of ids.
function Text:decode(ids)
  if native.is_tensor(ids) then ids = ids:flatten():tolist() end
  check("decode", "ids", ids, { type = "table" })
  local parts = {}
  for i, id in ipairs(ids) do
    if math.type(id) ~= "integer" then fail.type("decode", ("ids[%d]"):format(i), "an id", id) end
    parts[i] = self.symbols[id + 1] or fail.argument("decode", "id %d is not in the vocabulary", id)
  end
  return table.concat(parts)
end

-- The first part (a fraction) and the rest, with the same vocabulary.
function Text:split(fraction)
  check("split", "fraction", fraction, { type = "number", min = 0, max = 1 })
  local n = self.ids:numel()
  local first = math.floor(n * fraction)
  return make(self.ids:narrow(1, 1, first), self.symbols, self.numbers),
    make(self.ids:narrow(1, first + 1, n - first), self.symbols, self.numbers)
end

function Text:__len()
  return self.ids:numel()
end

function Text:__tostring()
  return ("text of %d characters, %d different"):format(#self, self.vocab)
end

return Text
