-- Datasets from files whose reading is the engine's: token files and CSV tables.
local native = require "rille.native"
local fail = require "rille.fail"
local read_options = require "rille.options"
local Table = require "rille.data.table"

local files = {}

-- A flat file of token ids as a tensor; dtype "u16" by default, as nanoGPT writes
-- them.
--: path: string -> rille.Tensor
function files.tokens(path, options)
  local o = read_options("tokens", options, { { "dtype", "u16", doc = "of an id in the file" } })
  return native.tokens(path, o.dtype)
end

-- A table with a column for each of the file's; numbers become tensors, the rest lists of strings.
--: path: string -> rille.data.Set
function files.csv(path, options)
  local o = read_options("csv", options, {
    { "header", true, doc = "the first line names the columns" },
    { "separator", ",", doc = "one character" },
  })
  if #o.separator ~= 1 then fail.argument("csv", "'separator' must be one character") end
  return Table.new(native.csv(path, o.header, o.separator))
end

return files
