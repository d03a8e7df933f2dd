-- Classify IDX images (the MNIST file format) with a small network: the plain loop.
--   rille run mnist.lua --images train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz
local rille = require "rille"
local nn, optim, data = rille.nn, rille.optim, rille.data

local args = rille.args {
  images = { type = "path", required = true, help = "IDX file of images, plain or .gz" },
  labels = { type = "path", required = true, help = "IDX file of labels, plain or .gz" },
  epochs = 3, batch = 64, lr = 2e-3, seed = 1,
  device = "auto",                                      -- cuda where there is one, else cpu
}
rille.seed(args.seed)

local set = data.idx(args.images, args.labels)          -- set[i] -> { x = u8 [28,28], y = integer }
local train, test = data.split(set, { 0.8, 0.2 })       -- in file order
local loader = data.Loader(train, {
  batch = args.batch, shuffle = true, workers = 2,
  transform = function(item)               -- runs in the workers, each with a Lua state of its own
    item.x = item.x:to("f32"):div(255):flatten()
    return item
  end,
})

local model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)):to(args.device)
local opt = optim.AdamW(model:parameters(), { lr = args.lr })

for epoch = 1, args.epochs do
  for batch in rille.progress(loader, "epoch " .. epoch) do
    opt:zero_grad()
    local loss = rille.cross_entropy(model(batch.x:to(args.device)), batch.y:to(args.device))
    loss:backward()
    opt:step()
    rille.progress.note { loss = loss:item() }
  end
  local right = 0
  rille.no_grad(function()
    for batch in data.Loader(test, { batch = 1000, transform = loader.transform }) do
      local x, y = batch.x:to(args.device), batch.y:to(args.device)
      right = right + model(x):argmax(-1):eq(y):sum():item()
    end
  end)
  print(("epoch %d  accuracy %.2f %%"):format(epoch, 100 * right / #test))
end
rille.save("mnist.safetensors", model:state_dict())
