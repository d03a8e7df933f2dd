-- The opt levels as the properties that they stand for, and what a call of amp.initialize makes of
-- them. The rules and the table are Apex's.
local fail = require "rille.fail"

local op = "initialize"

local levels = {
  O0 = { cast_model_type = "f32", patch_functions = false, master_weights = false,
    loss_scale = 1.0 },
  O1 = { patch_functions = true, loss_scale = "dynamic" },
  O2 = { cast_model_type = "f16", patch_functions = false, keep_batchnorm_fp32 = true,
    master_weights = true, loss_scale = "dynamic" },
  O3 = { cast_model_type = "f16", patch_functions = false, keep_batchnorm_fp32 = false,
    master_weights = false, loss_scale = 1.0 },
}

-- In the order in which they are printed.
local shown = { "cast_model_type", "patch_functions", "keep_batchnorm_fp32", "master_weights",
  "loss_scale" }

local aliases = {
  float32 = "f32", float = "f32", float16 = "f16", half = "f16", bfloat16 = "bf16", f32 = "f32",
  f16 = "f16", bf16 = "bf16",
}

local function dtype_of(name, text)
  if text == nil then return nil end
  local dtype = aliases[text]
  if not dtype then
    fail.raise {
      kind = "dtype", code = "E_DTYPE", op = op,
      message = ("'%s' must be f32, f16 or bf16, got %s"):format(name, fail.describe(text)),
    }
  end
  return dtype
end

local words = { True = true, False = false }

local function truth(text)
  if type(text) ~= "string" then return text end
  if words[text] == nil then
    fail.argument(op, "'keep_batchnorm_fp32' must be a boolean, 'True' or 'False', got '%s'", text)
  end
  return words[text]
end

local function scale_of(given)
  if given == nil or given == "dynamic" then return given end
  local scale = tonumber(given)
  local fits = scale and scale > 0 and scale < math.huge
  if not fits then
    fail.argument(op, "'loss_scale' must be a number above 0 or 'dynamic', got %s",
      fail.describe(given))
  end
  return scale * 1.0
end

-- O1 leaves the model alone and does its casts around ops; other levels have none of those.
local function check_level(level, o)
  if level ~= "O1" then
    if o.patch_functions then fail.option(op, "'patch_functions' = true is what O1 stands for") end
    return
  end
  if o.cast_model_type and o.cast_model_type ~= "f32" then
    fail.option(op, "O1 casts around ops, so its model stays f32: 'cast_model_type' can't be %s",
      o.cast_model_type)
  elseif o.keep_batchnorm_fp32 ~= nil then
    fail.option(op, "with O1 batch norms stay f32 anyway: leave out 'keep_batchnorm_fp32'")
  elseif o.master_weights ~= nil then
    fail.option(op, "with O1 the model's own weights are f32: leave out 'master_weights'")
  end
end

local function level_of(name)
  if levels[name] then return levels[name] end
  fail.raise {
    kind = "argument", code = "E_ARG", op = op,
    message = ("unknown opt level '%s'"):format(name),
    facts = { "levels: 'O0', 'O1', 'O2', 'O3'" },
    hint = "the first character is the letter O, not the digit zero",
  }
end

-- The properties of a call: those of the level, where the options `o` say nothing else.
return function(o)
  local level = level_of(o.opt_level)
  o.cast_model_type = dtype_of("cast_model_type", o.cast_model_type)
  o.cast_model_outputs = dtype_of("cast_model_outputs", o.cast_model_outputs)
  o.keep_batchnorm_fp32, o.loss_scale = truth(o.keep_batchnorm_fp32), scale_of(o.loss_scale)
  check_level(o.opt_level, o)
  for _, name in ipairs(shown) do
    if o[name] == nil then o[name] = level[name] end
  end
  o.shown = shown
  return o
end
