-- Fit a deep transformer into little memory: bf16 autocast, checkpoint blocks, 8-bit floats at
-- rest, accumulation.
--   rille run low_memory_lm.lua
local rille = require "rille"
local nn, optim, amp = rille.nn, rille.optim, rille.amp

local device = rille.default_device()
local blocks = nn.ModuleList()
for i = 1, 12 do
  blocks[i] = nn.TransformerEncoderLayer(384, 6,
    { feedforward = 1536, causal = true, norm_first = true })
end
blocks:to(device)

local function forward(x, padding)
  for _, block in ipairs(blocks) do
    -- keeps the block's input, recomputes the rest
    x = rille.checkpoint(block, x, { padding_mask = padding })
  end
  return x
end

-- keep what is dear to compute, recompute what is cheap
local selective = rille.checkpointer {
  policy = { save = { "linear", "scaled_dot_product_attention" } },
}
local y = selective(blocks[1], rille.randn(2, 256, 384, { device = device, requires_grad = true }))
y:sum():backward()

-- the same, over a chain in four segments
local z = rille.checkpoint_sequential(blocks, 4, rille.randn(2, 256, 384, { device = device }))

print(rille.finfo("f8_e4m3").max, rille.finfo("f4_e2m1").max)             -- 448.0  6.0
local w = rille.randn(384, 384, { device = device })
local w8, scale = amp.quantize(w, "f8_e4m3", { per = "row" })
local p = rille.scaled_mm(rille.randn(16, 384, { device = device }):to("f8_e4m3"), w8:t(),
  { scale_b = scale:t(), dtype = "bf16" })
assert(#z == 2 and p.dtype == "bf16")

local opt = optim.AdamW(blocks:parameters(), { lr = 3e-4 })
rille.memory.reset_peak()
for _ = 1, 4 do
  local x = rille.randn(8, 256, 384, { device = device })
  do local _ <close> = amp.autocast { device = device, dtype = "bf16" }
    local lengths = rille.tensor({ 256, 200, 100, 256, 31, 256, 256, 7 }, { device = device })
    local padding = rille.lengths_to_mask(lengths, 256)
    ;(forward(x, padding):pow(2):mean() / 4):backward()
  end
end
opt:step(); opt:zero_grad()
print(("peak %.1f MB"):format(rille.memory.peak() / 2^20))
