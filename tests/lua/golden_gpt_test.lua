-- A tiny GPT in f64 on the first 90 % of Tiny Shakespeare with weights from a formula: the losses
-- of its first steps must be PyTorch's (made with PyTorch 2.15, CPU). Skips where the text is
-- absent.
local rille = require "rille"
local t = require "support.test"
local golden = require "support.golden_gpt"

local wanted = {
  4.2378731471, 4.1866054331, 4.1808762831, 4.1408222315, 4.1013675082, 4.0897432668, 4.0439465534,
  4.0339414104, 4.0367170585, 3.977065449,
}
local wanted_norms = { 3.55254995, 1.65901524, 1.40151014, 1.4546919, 2.39981364 }
local function text_path()
  local project = arg[0]:match "^(.*)/tests/" or "."
  local root = os.getenv "RILLE_DATA" or project .. "/../shared/data"
  local path = root .. "/text/tinyshakespeare.txt"
  local file = io.open(path)
  if not file then t.skip("no " .. path) end
  file:close()
  return path
end

t.test("the losses and gradient norms of ten steps are PyTorch's", function()
  local losses, norms, model = golden.train(text_path(), 20, 1)
  local count = 0
  for _, p in ipairs(model:parameters()) do count = count + p:numel() end
  t.eq(count, 28576)
  t.near(table.move(losses, 1, 10, 1, {}), wanted, 1e-10)
  t.near(losses[20], 3.7756493754, 1e-10)
  for step = 1, 20 do print(("        loss %d  %a"):format(step, losses[step])) end
  t.near(table.move(norms, 1, 5, 1, {}), wanted_norms, 1e-8)
end)

t.test("two micro-batches give the same", function()
  t.near(golden.train(text_path(), 10, 2), wanted, 1e-10)
end)

t.test("with every block a checkpoint block the losses are the same, to the bit", function()
  local threads = rille.threads()
  local _ <close> = setmetatable({}, { __close = function() rille.threads(threads) end })
  for _, count in ipairs { 1, 2 } do
    rille.threads(count)
    local losses, norms = golden.train(text_path(), 20, 1)
    local same, same_norms = golden.train(text_path(), 20, 1, true)
    t.eq(same, losses)
    t.eq(same_norms, norms)
  end
end)
