-- rille.args: types from defaults, ways to write a flag, what is refused.
local t = require "support.test"
local rille = require "rille"

local function parse(words, spec)
  return rille.args(spec or {
    steps = 10, lr = 1e-3, name = "a", verbose = false, cache = true, betas = { 0.9, 0.99 },
    mode = { default = "fast", choices = { "fast", "slow" } },
    layers = { default = 2, min = 1, max = 4 },
  }, words)
end

t.test("defaults stand where nothing is given", function()
  local args = parse {}
  t.eq(args.steps, 10)
  t.eq(args.lr, 1e-3)
  t.eq(args.cache, true)
  t.eq(args.betas, { 0.9, 0.99 })
end)

t.test("a flag may be written in four ways", function()
  for _, words in ipairs { { "--lr", "0.5" }, { "--lr=0.5" }, { "lr=0.5" } } do
    t.eq(parse(words).lr, 0.5)
  end
  local args = rille.args({ max_steps = 1 }, { "--max-steps", "7" })
  t.eq(args.max_steps, 7)
  t.eq(rille.args({ max_steps = 1 }, { "--max_steps=8" }).max_steps, 8)
end)

t.test("types come from the defaults", function()
  t.eq(math.type(parse({ "--steps", "3" }).steps), "integer")
  t.eq(math.type(parse({ "--lr", "3" }).lr), "float")
  t.eq(parse({ "--verbose" }).verbose, true)
  t.eq(parse({ "--no-cache" }).cache, false)
  t.eq(parse({ "--cache=off" }).cache, false)
  t.eq(parse({ "--betas", "0.8,0.95" }).betas, { 0.8, 0.95 })
  t.eq(parse({ "--name", "-3" }).name, "-3")
end)

t.test("wrong usage is an error of kind usage that says what is wanted", function()
  local usage = { kind = "usage" }
  local err = t.error_like(function() parse { "--steps", "1.5" } end, usage)
  t.ok(tostring(err.message):find "integer")
  t.error_like(function() parse { "--lr", "fast" } end, { message = "must be a number" })
  t.error_like(function() parse { "--mode", "medium" } end, { message = "one of fast, slow" })
  t.error_like(function() parse { "--layers", "5" } end, { message = "at most 4" })
  t.error_like(function() parse { "--lr" } end, { message = "needs a value" })
  t.error_like(function() parse { "stray" } end, { message = "unexpected word 'stray'" })
end)

t.test("an unknown flag names the nearest one", function()
  t.error_like(function() parse { "--step", "5" } end, { message = "did you mean '--steps'" })
  t.error_like(function() parse { "--verbsoe" } end, { message = "did you mean '--verbose'" })
end)

t.test("every missing required flag is named", function()
  local spec = { images = { type = "path", required = true }, labels = { required = true } }
  t.error_like(function() rille.args(spec, {}) end, { message = "--images, --labels are missing" })
end)

t.test("reading a name that was not declared is an error", function()
  local args = parse {}
  t.error_like(function() return args.stesp end, { message = "did you mean 'steps'" })
end)

t.test("an unknown key of a declaration is an error", function()
  t.error_like(function() rille.args({ x = { defualt = 1 } }, {}) end,
    { message = "did you mean 'default'" })
end)

t.test("a declaration that no flag could keep to is an error", function()
  local function declare(entry) return function() rille.args({ x = entry }, {}) end end
  t.error_like(declare { default = 5, max = 1 }, { message = "5, is not within its bounds" })
  t.error_like(declare { default = "c", choices = { "a", "b" } },
    { message = "c, is none of its choices" })
  t.error_like(declare { default = "c", choices = {} }, { message = "must be a list" })
  t.error_like(declare { default = "c", min = 1 }, { message = "'min' is for numbers" })
  t.error_like(declare { type = "number", default = "c" },
    { message = "'default of x' must be a number" })
end)

t.test("a number beyond f64 is refused", function()
  t.error_like(function() parse { "--lr", "1e999" } end, { message = "a number that f64 holds" })
end)
