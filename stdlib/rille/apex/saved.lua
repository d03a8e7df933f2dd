-- amp.state_dict and amp.load_state_dict: the scale of each loss and its passes without an
-- overflow, under Apex's names.
local fail = require "rille.fail"
local native = require "rille.native"
local state = require "rille.apex.state"

local saved = {}

-- { loss_scaler0 = { loss_scale, unskipped }, ... }
--: -> table
function saved.state_dict()
  local dict = {}
  for i, scaler in ipairs(state.scalers) do
    dict["loss_scaler" .. i - 1] = { loss_scale = scaler.scale, unskipped = scaler.unskipped }
  end
  return dict
end

-- The scalers of a dict by number, or an error for names that are none.
local function numbered(op, dict)
  local list, unknown = {}, {}
  for key, value in pairs(dict) do
    local number = type(key) == "string" and math.tointeger(key:match "^loss_scaler(%d+)$")
    local whole = type(value) == "table" and type(value.loss_scale) == "number"
      and value.loss_scale > 0 and math.tointeger(value.unskipped)
    if not number then
      unknown[#unknown + 1] = native.shown(tostring(key))
    elseif not whole then
      fail.state(op, "'%s' must hold 'loss_scale' and 'unskipped'", key)
    else
      list[#list + 1] = { number = number, scale = value.loss_scale, unskipped = whole }
    end
  end
  table.sort(unknown)
  if unknown[1] then fail.state(op, "unexpected names: %s", table.concat(unknown, ", ")) end
  return list
end

-- Takes up such a state. More or fewer scalers than there are losses here are a warning.
--: dict: table
function saved.load_state_dict(dict)
  local op = "amp.load_state_dict"
  if type(dict) ~= "table" then fail.type(op, "dict", "a table", dict) end
  local list = numbered(op, dict)
  if #list ~= #state.scalers then
    warn(("%s: the state has %d loss scalers, num_losses made %d"):format(op, #list,
      #state.scalers))
  end
  for _, entry in ipairs(list) do
    local scaler = state.scalers[entry.number + 1]
    if scaler then scaler.scale, scaler.unskipped = entry.scale, entry.unskipped end
  end
end

return saved
