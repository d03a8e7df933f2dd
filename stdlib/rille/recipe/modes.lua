-- Which parts of a run's modules are in eval mode and which parameters are frozen: state that no
-- state_dict has and the next step needs.
local modes = {}

-- The modules among the objects of a run, by name.
function modes.of(objects)
  local found = {}
  for _, entry in ipairs(objects) do
    local module = entry[2]
    if module.parameters and module.train then
      local eval, frozen = {}, {}
      for name, part in module:named_modules() do
        if not part.training then eval[#eval + 1] = name end
      end
      for name, t in module:named_parameters() do
        if not t.requires_grad then frozen[#frozen + 1] = name end
      end
      found[entry[1]] = { eval = eval, frozen = frozen }
    end
  end
  return found
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do set[name] = true end
  return set
end

function modes.set(objects, saved)
  for _, entry in ipairs(objects) do
    local own, module = saved[entry[1]], entry[2]
    if own then
      local eval, frozen = set_of(own.eval), set_of(own.frozen)
      for name, part in module:named_modules() do part.training = not eval[name] end
      for name, t in module:named_parameters() do
        if t.requires_grad == (frozen[name] or false) then t:requires_grad_(not frozen[name]) end
      end
    end
  end
end

return modes
