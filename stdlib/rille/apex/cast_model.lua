-- What O2 and O3 (and O0, to f32) do to a model: its tensors become of one dtype, its forward casts
-- what comes in and what goes out, its state_dict gives f32.
local rille = require "rille"
local native = require "rille.native"
local module = require "rille.nn.module"
local stepping = require "rille.apex.stepping"
local values = require "rille.apex.values"

local function is_batch_norm(part)
  return module.class_of(part).__name:match "BatchNorm" ~= nil
end

local function cast_tensors(model, dtype, keep_batchnorm)
  local _ <close> = rille.no_grad()
  for _, part in model:named_modules() do
    local cast = not (keep_batchnorm and is_batch_norm(part))
    for _, kind in ipairs(cast and { "parameter", "buffer" } or {}) do
      for _, t in part:own_tensors(kind) do
        if values.is_float(t) then
          t.grad = nil
          native.set_data(t, t:to(dtype))
        end
      end
    end
  end
end

-- Fields of the object, not of its class, and none that the model would list.
local function override(model, name, make)
  rawset(model, name, make(model[name]))
end

local function cast_calls(model, incoming, outgoing)
  override(model, "forward", function(forward)
    return function(self, ...)
      if incoming then return outgoing(forward(self, incoming(...))) end
      return outgoing(forward(self, ...))
    end
  end)
end

local function widen(t)
  return t.dtype == "f64" and t or t:to "f32"
end

local function save_wide(model)
  override(model, "state_dict", function(state_dict)
    return function(self, options)
      local dict = state_dict(self, options)
      for name, t in pairs(dict) do dict[name] = values.map(t, widen) end
      return dict
    end
  end)
  override(model, "load_state_dict", function(load)
    return function(self, dict, options)
      local missing, unexpected = load(self, dict, options)
      stepping.renew_masters(self)
      return missing, unexpected
    end
  end)
end

return function(model, properties)
  local dtype, out = properties.cast_model_type, properties.cast_model_outputs
  if dtype then
    cast_tensors(model, dtype, properties.keep_batchnorm_fp32)
    cast_calls(model, values.caster(dtype), values.caster(out or "f32"))
    save_wide(model)
  elseif out then
    cast_calls(model, nil, values.caster(out))
  end
end
