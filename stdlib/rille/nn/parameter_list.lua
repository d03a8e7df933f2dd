-- `params` as a list of tensors, one tensor being a list, too; a module in its place is answered
-- with a hint.
local native = require "rille.native"
local fail = require "rille.fail"
local is_module = require "rille.nn.module".is_module

return function(op, params)
  if native.is_tensor(params) then return { params } end
  if is_module(params) then
    fail.raise {
      kind = "argument", code = "E_TYPE", op = op,
      message = "'params' must be a list of tensors, got a module",
      hint = op .. " takes model:parameters()",
    }
  elseif type(params) ~= "table" then
    fail.type(op, "params", "a list of tensors", params)
  end
  for i, t in next, params do
    if not native.is_tensor(t) then
      fail.type(op, ("params[%s]"):format(tostring(i)), "a tensor", t)
    end
  end
  local list = {}                          -- what an __index makes up is none of it
  for i = 1, rawlen(params) do list[i] = rawget(params, i) end
  return list
end
