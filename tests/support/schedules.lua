-- Value sequences of the PyTorch schedulers of the same names (2.15, base rate 1), which scripts
-- and hosts both get: tests/lua/lr_test.lua, tests/api/schedules_test.cpp, c_schedules_test.cpp.
local function sequence(name, options, values)
  return { name = name, options = options, values = values }
end

return {
  sequence("Step", { size = 3 }, { 1, 1, 1, .1, .1, .1, .01 }),
  sequence("MultiStep", { milestones = { 2, 5 } }, { 1, 1, .1, .1, .1, .01 }),
  sequence("Constant", {}, { 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1, 1 }),
  sequence("Linear", {}, { .333333, .466667, .6, .733333, .866667, 1, 1 }),
  sequence("Exponential", { gamma = 0.5 }, { 1, .5, .25, .125 }),
  sequence("Polynomial", {}, { 1, .8, .6, .4, .2, 0, 0 }),
  sequence("Cosine", { steps = 5 }, { 1, .904508, .654508, .345492, .095492, 0, 0 }),
  sequence("Cosine", { steps = 5, periodic = true },
    { 1, .904508, .654508, .345492, .095492, 0, .095492 }),
  sequence("CosineRestarts", { steps = 3, mult = 2 },
    { 1, .75, .25, 1, .933013, .75, .5, .25, .066987, 1 }),
  sequence("OneCycle", { max_lr = 1.0, steps = 10 },
    { .04, .52, 1, .950485, .811746, .611262, .388742, .188258, .049519, 4e-6, 4e-6 }),
  sequence("OneCycle", { max_lr = 1.0, steps = 10, anneal = "linear" },
    { .04, .52, 1, .857143, .714287, .57143, .428574, .285717, .142861, 4e-6 }),
  sequence("OneCycle", { max_lr = 1.0, steps = 10, three_phase = true },
    { .04, .52, 1, .52, .04, .036181, .026182, .013822, .003823, 4e-6 }),
  sequence("Cyclic", { base_lr = .1, max_lr = 1.0, up = 3 }, { .1, .4, .7, 1, .7, .4, .1 }),
  sequence("LinearWarmup", { steps = 4 }, { .2, .4, .6, .8, 1, 1 }),
}
