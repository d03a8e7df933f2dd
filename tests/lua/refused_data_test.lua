-- What data, generate and progress refuse, with what words: on the user's line.
local t = require "support.test"
local refused = require "support.refused"
local rille = require "rille"
local data = rille.data

local ids = rille.arange(1, 20)

refused("windows need ids, a length and a batch", {
  { function() data.windows(ids, { length = 0 }) end, "E_ARG",
    "'length' must be at least 1, got 0" },
  { function() data.windows(ids, { length = 4, batch = -4 }) end, "E_ARG",
    "'batch' must be at least 1, got -4" },
  { function() data.windows(ids:to "f32", { length = 4 }) end, "E_DTYPE",
    "'ids' must be of an integer dtype, got f32" },
  { function() data.windows(ids:view(4, 5), { length = 4 }) end, "E_SHAPE",
    "'ids' must have one dim, got [4, 5]" },
  { function() data.windows(5, { length = 4 }) end, "E_TYPE",
    "'ids' must be a tensor or a text, got 5" },
  { function() data.windows(ids) end, "E_ARG", "'length' is missing" },
})

local set = data.table { x = rille.zeros(10, 2) }
local loader = data.Loader(set, { batch = 3 })
local windows = data.windows(ids, { length = 4, batch = 2 })

-- Gives a position that the dataset doesn't have.
local holes = { iter = function() return function() return { 1, 7 } end end }

refused("a loader's options", {
  { function() data.Loader() end, "E_TYPE",
    "'set' must be a dataset (with # and [i]), got nil" },
  { function() data.Loader(5, {}) end, "E_TYPE", "'set' must be a dataset" },
  { function() data.Loader {} end, "E_ARG", "the set has no items" },
  { function() data.Loader(set, { transform = 5 }) end, "E_TYPE",
    "'transform' must be a function or a table, got 5" },
  { function() data.Loader(set, { transform = { x = 5 } }) end, "E_TYPE",
    "'transform.x' must be a function, got 5" },
  { function() data.Loader(set, { collate = 3 }) end, "E_TYPE", "'collate' must be a function" },
  { function() data.Loader(set, { sampler = 3 }) end, "E_TYPE",
    "'sampler' must be a sampler or a list of positions, got 3" },
  { function() data.Loader(set, { batch_sampler = { 1 } }) end, "E_TYPE",
    "'batch_sampler' must be a sampler, got a table" },
  { function() data.Loader(set, { workers = 1, prefetch = "x" }) end, "E_TYPE",
    "'prefetch' must be an integer, got string 'x'" },
  { function() data.Loader(set, { workers = -1 }) end, "E_ARG",
    "'workers' must be at least 0, got -1" },
  { function() data.Loader(set, { shuffle = 1 }) end, "E_TYPE",
    "'shuffle' must be a boolean, got 1" },
  { function() data.Loader(set, { seed = "x" }) end, "E_TYPE", "'seed' must be an integer" },
  { function() data.Loader(set, { timeout = 0 / 0 }) end, "E_ARG",
    "'timeout' must be at least 0, got" },
  { function() data.Loader(set, { batch = 0 }) end, "E_ARG", "'batch' must be at least 1, got 0" },
  { function() data.Loader(set, { transform = { y = rille.neg } }):iter()() end, "E_ARG",
    "item 1 has no field 'y' to transform" },
  { function() data.Loader({ 1, 2 }, { transform = { x = rille.neg } }):iter()() end, "E_ARG",
    "'transform' goes by field, but item 1 is a number" },
  { function() data.Loader(set):iter "x" end, "E_TYPE", "'epoch' must be an integer" },
  { function() data.Loader({ 1, "x" }, { batch = 2 }):iter()() end, "E_ARG",
    "items 1 and 2 differ in kind: number and string" },
  { function() data.Loader({ 1, 2 }, { batch_sampler = holes }):iter()() end, "E_ARG",
    "can't make a batch of nil (item 7)" },
})

refused("states of loaders and windows", {
  { function() loader:load_state() end, "E_TYPE", "'state' must be a table, got nil" },
  { function() loader:load_state "x" end, "E_TYPE", "'state' must be a table, got string 'x'" },
  { function() loader:load_state {} end, "E_TYPE", "'state.epoch' must be an integer, got nil" },
  { function() loader:load_state { epoch = 1, batches = -1 } end, "E_ARG",
    "'state.batches' must be at least 0, got -1" },
  { function() loader:load_state { epoch = 1, batches = 5 } end, "E_STATE",
    "the state is of batch 5, there are 4" },
  { function() windows:load_state {} end, "E_TYPE", "'state.epoch' must be an integer, got nil" },
  { function() windows:load_state { epoch = 1, batches = 99 } end, "E_STATE",
    "the state is of batch 99, there are 2" },
})

t.test("pin_memory changes nothing where there is no CUDA", function()
  if pcall(rille.zeros, 1, { device = "cuda" }) then t.skip "there is a CUDA device" end
  local batch = data.Loader(set, { batch = 2, pin_memory = true }):iter()()
  t.eq({ batch.x:size() }, { 2, 2 })
end)

refused("other parts of data", {
  { function() data.table { x = 5 } end, "E_TYPE", "'x' must be a tensor or a list, got 5" },
  { function() data.map(set, 5) end, "E_TYPE", "'f' must be a function, got 5" },
  { function() data.concat(set, 5) end, "E_TYPE", "'#2' must be a dataset" },
  { function() data.subset(set, 5) end, "E_TYPE", "'positions' must be a table, got 5" },
  { function() data.split(set, 0.5) end, "E_TYPE", "'fractions' must be a table, got 0.5" },
  { function() data.split(set, { 1.5, -0.5 }) end, "E_ARG",
    "'fractions[2]' must be at least 0, got -0.5" },
  { function() data.Random(-1) end, "E_ARG", "'set' must be at least 0, got -1" },
  { function() data.Random(3):iter "x" end, "E_TYPE",
    "'epoch' must be an integer, got string 'x'" },
  { function() data.Random(3):set_epoch() end, "E_TYPE", "'epoch' must be an integer, got nil" },
  { function() windows:iter "x" end, "E_TYPE", "'epoch' must be an integer, got string 'x'" },
  { function() data.Batch(5, 2) end, "E_TYPE", "'sampler' must be a sampler, got 5" },
  { function() data.LengthBucket({ "x" }, { batch = 2 }) end, "E_TYPE",
    "'lengths[1]' must be a number, got string 'x'" },
  { function() data.DistributedSampler(5, { mode = "trian" }) end, "E_TYPE",
    "'mode' must be 'train' or 'eval', got string 'trian'" },
})

local transforms = data.transforms

refused("transforms", {
  { function() transforms.random_crop "x" end, "E_TYPE",
    "'size' must be an integer or a list, got string 'x'" },
  { function() transforms.center_crop { 3 } end, "E_TYPE",
    "'size[2]' must be an integer, got nil" },
  { function() transforms.random_flip { p = 2 } end, "E_ARG", "'p' must be at most 1, got 2" },
  { function() transforms.rotate() end, "E_TYPE", "'degrees' must be a number, got nil" },
  { function() transforms.normalize({ 0.5 }, 5) end, "E_TYPE", "'std' must be a list, got 5" },
  { function() transforms.compose { 5 } end, "E_TYPE", "'list[1]' must be a function, got 5" },
  { function() transforms.mixup(3, { alpha = 0 }) end, "E_ARG", "'alpha' must be above 0, got 0" },
})

local function Vocabulary(seen) return rille.zeros(seen:size(1), seen:size(2), 3) end

refused("generate", {
  { function() rille.generate(Vocabulary, { tokens = "x" }) end, "E_TYPE",
    "'tokens' must be an integer, got string 'x'" },
  { function() rille.generate(Vocabulary, { tokens = -1 }) end, "E_ARG",
    "'tokens' must be at least 0, got -1" },
  { function() rille.generate(Vocabulary, {}) end, "E_ARG", "'tokens' is missing" },
  { function() rille.generate(Vocabulary, { tokens = 1, temperature = -1 }) end, "E_ARG",
    "'temperature' must be at least 0, got -1" },
  { function() rille.generate(nil, { tokens = 1 }) end, "E_TYPE",
    "'model' must be a module or a function, got nil" },
  { function() rille.generate(function() end, { tokens = 1 }) end, "E_TYPE",
    "'model(ids)' must be a tensor [batch, time, vocab], got nil" },
  { function() rille.generate(Vocabulary, { tokens = 1, start = "x" }) end, "E_TYPE",
    "'start' must be an integer, a list or a tensor, got string 'x'" },
  { function() rille.generate(Vocabulary, { tokens = 1, start = {} }) end, "E_SHAPE",
    "'start' must be [time] or [batch, time] with an id or more, got [0]" },
})

refused("progress", {
  { function() rille.progress.note(5) end, "E_TYPE", "'values' must be a table, got 5" },
  { function() rille.progress(-1) end, "E_ARG", "'iterable' must be at least 0, got -1" },
  { function() rille.progress(5, { lable = "x" }) end, "E_OPTION", "did you mean 'label'" },
})
