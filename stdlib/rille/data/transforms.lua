-- Functions of one image [C, H, W] (or of a batch, for mixup and cutmix), for a loader's
-- `transform`. Random ones draw from the generator, which the loader keys by (seed, epoch, item).
local rille = require "rille"
local check = require "rille.check"
local fail = require "rille.fail"
local read_only = require "rille.read_only"
local read_options = require "rille.options"

local transforms = {}

-- A number in [low, high).
local function uniform(low, high)
  return low + (high - low) * rille.rand(1):item()
end

local function below(n)
  return math.floor(uniform(0, n))
end

local function as_float(x)
  if x.dtype:match "^b?f" then return x end
  local float = x:to(rille.default_dtype())
  return x.dtype == "u8" and float / 255 or float
end

local side, fraction = { type = "integer", min = 1 }, { type = "number", min = 0, max = 1 }

-- `size` as height and width.
local function sides(op, size)
  if type(size) ~= "table" then
    size = check(op, "size", size, { type = "integer|integer[]", min = 1 })
    return size, size
  end
  return check(op, "size[1]", size[1], side), check(op, "size[2]", size[2], side)
end

local function numbers(op, name, list)
  check(op, name, list, { type = "number[]" })
  for i = 1, math.max(#list, 1) do
    check(op, ("%s[%d]"):format(name, i), list[i], { type = "number" })
  end
  return list
end

-- One function of a list of functions.
--: list: (fun(x: any): any)[] -> fun(x: any): any
function transforms.compose(list)
  check("compose", "list", list, { type = "table" })
  for i, f in ipairs(list) do check("compose", ("list[%d]"):format(i), f, { type = "fun" }) end
  return function(x)
    for _, f in ipairs(list) do x = f(x) end
    return x
  end
end

-- f as a function of one image.
local function of_image(op, f)
  return function(x)
    check(op, "image", x, { type = "rille.Tensor" })
    if x:dim() ~= 3 then fail.argument(op, "an image has 3 dims [C, H, W], got %d", x:dim()) end
    return f(x)
  end
end

-- f as a function of a batch of images and labels.
local function of_batch(op, f)
  return function(batch)
    check(op, "batch", batch, { type = "table" })
    check(op, "batch.x", batch.x, { type = "rille.Tensor" })
    check(op, "batch.y", batch.y, { type = "rille.Tensor" })
    if batch.x:dim() ~= 4 then
      fail.argument(op, "a batch of images has 4 dims [N, C, H, W], got %d", batch.x:dim())
    end
    return f(batch)
  end
end

local function crop(x, top, left, height, width)
  return x:narrow(2, top + 1, height):narrow(3, left + 1, width)
end

-- A stretch of the image at a random place.
--: size: integer|integer[] -> fun(image: rille.Tensor): rille.Tensor
function transforms.random_crop(size, options)
  local o = read_options("random_crop", options, {
    { "padding", 0, type = "integer", min = 0 }, { "fill", 0 },
  })
  local height, width = sides("random_crop", size)
  return of_image("random_crop", function(x)
    if o.padding > 0 then
      local p = o.padding
      x = rille.pad(x, { p, p, p, p }, { value = o.fill })
    end
    local _, h, w = x:size()
    if h < height or w < width then
      fail.argument("random_crop", "an image of %d x %d is smaller than %d x %d", h, w, height,
        width)
    end
    return crop(x, below(h - height + 1), below(w - width + 1), height, width)
  end)
end

-- The middle of the image.
--: size: integer|integer[] -> fun(image: rille.Tensor): rille.Tensor
function transforms.center_crop(size)
  local height, width = sides("center_crop", size)
  return of_image("center_crop", function(x)
    local _, h, w = x:size()
    return crop(x, (h - height) // 2, (w - width) // 2, height, width)
  end)
end

-- Left and right changed places with probability p; { vertical = true } top and bottom.
--: -> fun(image: rille.Tensor): rille.Tensor
function transforms.random_flip(options)
  local o = read_options("random_flip", options, {
    { "p", 0.5, min = 0, max = 1 }, { "vertical", false },
  })
  return of_image("random_flip", function(x)
    return uniform(0, 1) < o.p and x:flip { o.vertical and 2 or 3 } or x
  end)
end

-- The image in another size.
--: size: integer|integer[] -> fun(image: rille.Tensor): rille.Tensor
function transforms.resize(size, options)
  local o = read_options("resize", options, { { "mode", "bilinear", doc = "as of interpolate" } })
  local height, width = sides("resize", size)
  return of_image("resize", function(x)
    local batch = as_float(x):unsqueeze(1)
    return rille.interpolate(batch, { size = { height, width }, mode = o.mode }):squeeze(1)
  end)
end

-- Turned about the centre by an angle drawn from [-degrees, degrees]; outside is 0.
--: degrees: number -> fun(image: rille.Tensor): rille.Tensor
function transforms.rotate(degrees)
  check("rotate", "degrees", degrees, { type = "number", min = 0 })
  return of_image("rotate", function(x)
    local angle = math.rad(uniform(-degrees, degrees))
    local _, h, w = x:size()
    local ys = rille.linspace(-1 + 1 / h, 1 - 1 / h, h):unsqueeze(2)
    local xs = rille.linspace(-1 + 1 / w, 1 - 1 / w, w):unsqueeze(1)
    local c, s, aspect = math.cos(angle), math.sin(angle), h / w
    local grid = rille.stack({ xs * c - ys * (s * aspect), xs * (s / aspect) + ys * c }, 3)
    return rille.grid_sample(as_float(x):unsqueeze(1), grid:unsqueeze(1)):squeeze(1)
  end)
end

-- Brightness, contrast and saturation times a factor drawn from [1 - v, 1 + v].
--: -> fun(image: rille.Tensor): rille.Tensor
function transforms.color_jitter(options)
  local o = read_options("color_jitter", options, {
    { "brightness", 0.0, min = 0 }, { "contrast", 0.0, min = 0 }, { "saturation", 0.0, min = 0 },
  })
  local function factor(v) return uniform(math.max(0, 1 - v), 1 + v) end
  return of_image("color_jitter", function(x)
    x = as_float(x)
    if o.brightness > 0 then x = x * factor(o.brightness) end
    if o.contrast > 0 then
      local mean = x:mean()
      x = mean + (x - mean) * factor(o.contrast)
    end
    if o.saturation > 0 then
      local gray = x:mean(1, { keepdim = true })
      x = gray + (x - gray) * factor(o.saturation)
    end
    return x:clamp(0, 1)
  end)
end

-- (x - mean) / std by channel; integers are scaled to [0, 1] first.
--: mean: number[], std: number[] -> fun(image: rille.Tensor): rille.Tensor
function transforms.normalize(mean, std)
  numbers("normalize", "mean", mean)
  numbers("normalize", "std", std)
  local function by_channel(list) return rille.tensor(list):view(#list, 1, 1) end
  return of_image("normalize", function(x)
    return (as_float(x) - by_channel(mean)) / by_channel(std)
  end)
end

-- With probability p a rectangle of `scale` times the area becomes `value`.
--: -> fun(image: rille.Tensor): rille.Tensor
function transforms.erase(options)
  local o = read_options("erase", options, {
    { "p", 0.5, min = 0, max = 1 }, { "scale", { 0.02, 0.33 } }, { "value", 0 },
  })
  check("erase", "scale[1]", o.scale[1], fraction)
  check("erase", "scale[2]", o.scale[2], fraction)
  return of_image("erase", function(x)
    if uniform(0, 1) >= o.p then return x end
    local _, h, w = x:size()
    local area, ratio = uniform(o.scale[1], o.scale[2]) * h * w, math.exp(uniform(-1.2, 1.2))
    local height = math.min(h, math.max(1, math.floor((area * ratio) ^ 0.5 + 0.5)))
    local width = math.min(w, math.max(1, math.floor((area / ratio) ^ 0.5 + 0.5)))
    local whole = x:clone()
    crop(whole, below(h - height + 1), below(w - width + 1), height, width):fill_(o.value)
    return whole
  end)
end

-- The logarithm of a draw from Gamma(alpha), by Marsaglia and Tsang, "A Simple Method for
-- Generating Gamma Variables", 2000. Below 1 it is that of Gamma(alpha + 1) * U^(1 / alpha), which
-- only its logarithm keeps from underflow.
local function log_gamma(alpha)
  if alpha < 1 then return log_gamma(alpha + 1) + math.log(1 - uniform(0, 1)) / alpha end
  local d = alpha - 1 / 3
  local c = 1 / (9 * d) ^ 0.5
  while true do
    local x = rille.randn(1):item()
    local v = (1 + c * x) ^ 3
    if v > 0 and math.log(1 - uniform(0, 1)) < 0.5 * x * x + d - d * v + d * math.log(v) then
      return math.log(d * v)
    end
  end
end

-- A draw from Beta(alpha, alpha): 0 or 1 where alpha is tiny, a half where it is huge.
local function beta(alpha)
  alpha = math.min(alpha, 1e12)
  local a, b = log_gamma(alpha), log_gamma(alpha)
  if a - b ~= a - b then return uniform(0, 1) < 0.5 and 0.0 or 1.0 end
  return 1 / (1 + math.exp(b - a))
end

local function soft_labels(y, classes, part, order)
  local hot = rille.one_hot(y, classes):to(rille.default_dtype())
  return hot * part + hot:index_select(1, order) * (1 - part)
end

-- For a batch { x, y }: each image mixed with another; y becomes probabilities of `classes`.
--: classes: integer -> fun(batch: table): table
function transforms.mixup(classes, options)
  local o = read_options("mixup", options, { { "alpha", 0.2, above = 0 } })
  check("mixup", "classes", classes, side)
  return of_batch("mixup", function(batch)
    local part, order = beta(o.alpha), rille.randperm(#batch.x)
    local x = as_float(batch.x)
    x = x * part + x:index_select(1, order) * (1 - part)
    return { x = x, y = soft_labels(batch.y, classes, part, order) }
  end)
end

-- For a batch: a rectangle of each image comes from another; y by area.
--: classes: integer -> fun(batch: table): table
function transforms.cutmix(classes, options)
  local o = read_options("cutmix", options, { { "alpha", 1.0, above = 0 } })
  check("cutmix", "classes", classes, side)
  return of_batch("cutmix", function(batch)
    local part, order = beta(o.alpha), rille.randperm(#batch.x)
    local x = as_float(batch.x):clone()
    local _, _, h, w = x:size()
    local height, width = math.floor(h * (1 - part) ^ 0.5), math.floor(w * (1 - part) ^ 0.5)
    if height > 0 and width > 0 then
      local top, left = below(h - height + 1), below(w - width + 1)
      local function patch(t) return t:narrow(3, top + 1, height):narrow(4, left + 1, width) end
      patch(x):copy_(patch(as_float(batch.x):index_select(1, order)))
    end
    local kept = 1 - height * width / (h * w)
    return { x = x, y = soft_labels(batch.y, classes, kept, order) }
  end)
end

return read_only("rille.data.transforms", transforms)
