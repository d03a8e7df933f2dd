-- Integers that no size can be, as every integer argument of ops that make shapes from them: each
-- call ends at once, with an error that has a code or with a result.
local rille = require "rille"
local t = require "support.test"

local kLongest = 1.5                                 -- seconds; most take microseconds
local kExtremes = {
  math.mininteger, math.mininteger + 1, -(1 << 62), -(1 << 40), -7, -1, 0, 1 << 40, (1 << 40) + 1,
  1 << 46, 1 << 61, 1 << 62, (1 << 62) + 1, math.maxinteger - 1, math.maxinteger,
}

local kCodes = {
  E_SHAPE = true, E_ARG = true, E_INDEX = true, E_OOM = true, E_OOM_BUDGET = true, E_TYPE = true,
  E_PACKED_VIEW = true, E_OPTION = true, E_DTYPE = true, E_NO_KERNEL = true, E_STATE = true,
}

local line, image, volume = rille.rand(2, 4, 6), rille.rand(2, 4, 6, 8), rille.rand(1, 2, 3, 4, 5)
local matrix, vector, none = rille.rand(4, 6), rille.rand(6), rille.zeros(0, 4, 0)
local packed = rille.zeros(8):to "f6_e2m3"
local ids = rille.tensor({ 1, 0, 3 }, { dtype = "i64" })
local w1, w2 = rille.rand(4, 4, 3), rille.rand(4, 4, 3, 3)
local w3 = rille.rand(2, 2, 2, 2, 2)

-- What n stands for is one argument of one op; `of(name, ...)` makes the call.
local calls = {}
local function of(name, make) calls[#calls + 1] = { name, make } end

for _, x in ipairs { line, none, packed, matrix:t() } do
  of("as_strided", function(n) return x, { n }, { 1 } end)
  of("as_strided", function(n) return x, { 2, 2 }, { n, 1 } end)
  of("as_strided", function(n) return x, { n, n }, { n, n } end)
  of("as_strided", function(n) return x, { 2 }, { 1 }, { offset = n } end)
  of("as_strided", function(n) return x, { 0, 2 }, { n, n }, { offset = n } end)
  of("as_strided", function(n) return x, { 1 }, { n }, { offset = n } end)
  of("narrow", function(n) return x, 1, n, 1 end)
  of("narrow", function(n) return x, 1, 1, n end)
  of("narrow", function(n) return x, n, 1, 1 end)
  of("select", function(n) return x, 1, n end)
  of("slice", function(n) return x, 1, n, 2 end)
  of("slice", function(n) return x, 1, 1, n end)
  of("slice", function(n) return x, 1, 1, 3, { step = n } end)
  of("unfold", function(n) return x, 1, n, 1 end)
  of("unfold", function(n) return x, 1, 1, n end)
  of("pad", function(n) return x, { n, n } end)
  of("pad", function(n) return x, { 1, n } end)
  of("pad", function(n) return x, { n, 1, 0, n } end)
  of("roll", function(n) return x, n end)
  of("roll", function(n) return x, { n }, { 1 } end)
  of("tile", function(n) return x, { n, 2 } end)
  of("expand", function(n) return x, { n, n, n, n } end)
  of("broadcast_to", function(n) return x, { n, n, n, n } end)
  of("reshape", function(n) return x, { n, 2 } end)
  of("reshape", function(n) return x, { n, n, -1 } end)
  of("view", function(n) return x, { 0, n, n } end)
  of("unflatten", function(n) return x, 1, { n, -1 } end)
  of("flatten", function(n) return x, n, n end)
  of("unsqueeze", function(n) return x, n end)
  of("transpose", function(n) return x, n, 1 end)
  of("diagonal", function(n) return x, { offset = n } end)
  of("split", function(n) return x, n end)
  of("split", function(n) return x, { n, n, n } end)
  of("chunk", function(n) return x, n end)
  of("tensor_split", function(n) return x, { sections = n } end)
  of("tensor_split", function(n) return x, { cuts = { n, 1, n } } end)
  of("repeat_interleave", function(n) return x, n end)
  of("repeat_interleave", function(n) return x, rille.tensor({ n }, { dtype = "i64" }) end)
  of("diff", function(n) return x, { n = n } end)
  of("rot90", function(n) return x, { k = n } end)
end

of("as_strided_scatter", function(n) return line, rille.ones(2), { 2 }, { n } end)
of("as_strided_scatter", function(n) return line, rille.ones(2), { 2 }, { 1 }, { offset = n } end)
of("diagonal_scatter", function(n) return matrix, rille.ones(4), { offset = n } end)
of("slice_scatter", function(n) return matrix, rille.ones(1, 6), { first = n, last = n } end)
of("select_scatter", function(n) return matrix, rille.ones(6), 1, n end)
of("diag", function(n) return vector, { offset = n } end)
of("diag", function(n) return matrix, { offset = n } end)
of("diag_embed", function(n) return matrix, { offset = n } end)
of("diagflat", function(n) return vector, { offset = n } end)
of("tril", function(n) return matrix, n end)
of("triu", function(n) return matrix, n end)
of("tril_indices", function(n) return n, 4 end)
of("tril_indices", function(n) return 4, n end)
of("tril_indices", function(n) return n, n, { offset = n } end)
of("tril_indices", function(n) return 3, 4, { offset = n } end)
of("triu_indices", function(n) return n, 4 end)
of("triu_indices", function(n) return n, 0 end)
of("triu_indices", function(n) return 3, 4, { offset = n } end)

for _, x in ipairs { image, rille.zeros(2, 0, 4, 6), rille.zeros(0, 4, 0, 6) } do
  of("pixel_shuffle", function(n) return x, n end)
  of("pixel_unshuffle", function(n) return x, n end)
  of("channel_shuffle", function(n) return x, n end)
  of("interpolate", function(n) return x, { size = { n, n } } end)
  of("interpolate", function(n) return x, { scale_factor = n } end)
  of("interpolate", function(n) return x, { size = n, mode = "area" } end)
  of("interpolate", function(n) return x:gt(0), { size = n } end)
  of("fold2d", function(n) return x[1], n, 2 end)
  of("fold2d", function(n) return x[1], { n, 1 }, { 1, n } end)
  of("unfold2d", function(n) return x, n end)
  for _, option in ipairs { "padding", "dilation", "stride" } do
    of("unfold2d", function(n) return x, 2, { [option] = n } end)
    of("unfold2d", function(n) return x, 1, { [option] = n } end)
    of("fold2d", function(n) return x[1], 4, 2, { [option] = n } end)
  end
  of("local_response_norm", function(n) return x, n end)
  of("group_norm", function(n) return x, n end)
end

for _, case in ipairs {
  { "conv1d", line, w1 }, { "conv2d", image, w2 }, { "conv3d", volume, w3 },
  { "conv_transpose1d", line, w1 }, { "conv_transpose2d", image, w2 },
  { "conv_transpose3d", volume, w3 }, { "conv1d", rille.zeros(0, 4, 6), w1 },
  { "conv_transpose1d", rille.zeros(0, 4, 6), w1 },
} do
  local name, x, w = table.unpack(case)
  local options = { "stride", "padding", "dilation", "groups" }
  if name:find "transpose" then options[5] = "output_padding" end
  for _, option in ipairs(options) do
    of(name, function(n) return x, w, { [option] = n } end)
  end
  of(name, function(n) return x, w, { stride = n, dilation = n } end)
  of(name, function(n) return x, w, { stride = n, padding = n // 2 } end)
  of(name, function(n) return x, w, { stride = n, padding = n // 3 } end)
  if not name:find "transpose" then
    of(name, function(n) return x, w, { padding = "same", dilation = n } end)
  else
    of(name, function(n) return x, w, { stride = n, output_padding = 1 } end)
  end
end

for d, x in ipairs { line, image, volume } do
  for _, kind in ipairs { "max_pool", "avg_pool", "lp_pool" } do
    local name = kind .. d .. "d"
    if name ~= "lp_pool3d" then
      local function with(options)
        if kind == "lp_pool" then of(name, function(n) return x, 2, options(n) end) end
        if kind ~= "lp_pool" then of(name, function(n) return x, options(n) end) end
      end
      with(function(n) return { kernel = n } end)
      with(function(n) return { kernel = 1, stride = n } end)
      with(function(n) return { kernel = 2, stride = n, ceil_mode = true } end)
      with(function(n) return { kernel = n, stride = 1, padding = n // 2 } end)
      with(function(n) return { kernel = 2, dilation = n } end)
      with(function(n) return { kernel = 1, dilation = n } end)
      with(function(n) return { kernel = 2, padding = n } end)
    end
  end
  for _, kind in ipairs { "adaptive_avg_pool", "adaptive_max_pool" } do
    of(kind .. d .. "d", function(n) return x, n end)
    of(kind .. d .. "d", function(n) return x:narrow(2, 1, 0), n end)
    of(kind .. d .. "d", function(n) return x:narrow(1, 1, 0), n end)
  end
end
of("max_unpool1d", function(n) return line, line:long():fill_(1), n end)
of("max_unpool1d", function(n) return line, line:long():fill_(1), 2, { stride = n } end)
of("max_unpool1d", function(n) return line, line:long():fill_(1), 2, { size = n } end)
of("max_unpool1d", function(n) return line, line:long():fill_(1), 2, { padding = n } end)

for _, name in ipairs { "zeros", "ones", "rand", "randn", "empty", "eye", "randperm" } do
  of(name, function(n) return n end)
end
of("zeros", function(n) return 0, n, n end)
of("full", function(n) return { n }, 1 end)
of("eye", function(n) return n, 3 end)
of("eye", function(n) return 2, n end)
of("arange", function(n) return 1, n end)
of("arange", function(n) return n, -n end)
of("arange", function(n) return math.mininteger, math.maxinteger, n end)
of("arange", function(n) return 0, 1, 1 / n end)
of("linspace", function(n) return 0, 1, n end)
of("logspace", function(n) return 0, 1, n end)
of("randint", function(n) return n, n, { 2 } end)
of("randint", function(n) return 0, 1, { n } end)
of("one_hot", function(n) return ids, n end)
of("one_hot", function(n) return rille.tensor({ n }, { dtype = "i64" }) end)
of("bincount", function(n) return ids, { minlength = n } end)
of("bincount", function(n) return rille.tensor({ n }, { dtype = "i64" }) end)
of("histc", function(n) return vector, { bins = n } end)
of("combinations", function(n) return vector, { r = n } end)
of("combinations", function(n) return vector, { r = n, with_replacement = true } end)
of("combinations", function(n) return rille.ones(1), { r = n, with_replacement = true } end)
of("combinations", function(n) return rille.zeros(1):expand(1 << 40), { r = n } end)
of("vander", function(n) return vector, { n = n } end)
of("multinomial", function(n) return vector, n, { replacement = true } end)
of("causal_mask", function(n) return n end)
of("lengths_to_mask", function(n) return ids, { max = n } end)
of("lengths_to_mask", function(n) return rille.tensor({ n }, { dtype = "i64" }) end)
of("affine_grid", function(n) return rille.rand(2, 2, 3), { 2, 1, n, 2 } end)
of("affine_grid", function(n) return rille.rand(2, 2, 3), { n, n, 2, 2 } end)
of("quantize", function(n) return matrix, "f6_e2m3", { per = "block", block = n } end)
of("quantize", function(n) return matrix, "f4_e2m1", { per = "block", block = n } end)
of("topk", function(n) return vector, n end)
of("kthvalue", function(n) return vector, n end)
of("tensordot", function(n) return matrix, matrix, n end)
of("matrix_power", function(n) return rille.eye(2), n end)
of("index_select", function(n) return matrix, 1, rille.tensor({ n }, { dtype = "i64" }) end)
of("gather", function(n) return vector, 1, rille.tensor({ n }, { dtype = "i64" }) end)
of("lcm", function(n) return rille.tensor({ n }, { dtype = "i64" }), math.maxinteger - 1 end)
of("gcd", function(n) return rille.tensor({ n }, { dtype = "i64" }), n end)
of("unbind", function(n) return rille.zeros(1):expand(n) end)
of("cat", function(n)
  local x = rille.zeros(1):expand(n)
  return { x, x, x, x, x, x, x, x }
end)
of("kron", function(n)
  local x = rille.zeros(1):expand(n)
  return x, x
end)
of("outer", function(n)
  local x = rille.zeros(1):expand(n)
  return x, x
end)
of("flatten", function(n) return rille.zeros(1, 1):expand(n, 1) end)
of("diff", function(n) return rille.zeros(1):expand(n), { n = n } end)

-- "" where the call ended as it should.
local function fault(name, make, n)
  local found, op = pcall(function() return rille[name] end)
  if not found then return "is not an op" end
  local start = os.clock()
  local good, err = pcall(function() return op(make(n)) end)
  local took = os.clock() - start
  if took > kLongest then return ("took %.1f seconds"):format(took) end
  if good then return "" end
  if type(err) ~= "table" and type(err) ~= "userdata" then return tostring(err) end
  if not kCodes[err.code] then return tostring(err.code) .. ": " .. tostring(err) end
  return ""
end

t.test("every integer argument that makes a size takes the extremes", function()
  rille.memory.limit(rille.memory.allocated() + (256 << 20))
  local faults, count = {}, 0
  for _, call in ipairs(calls) do
    for _, n in ipairs(kExtremes) do
      local found = fault(call[1], call[2], n)
      count = count + 1
      if found ~= "" then faults[#faults + 1] = ("%s(%d): %s"):format(call[1], n, found) end
    end
  end
  rille.memory.limit(0)
  t.eq(table.concat(faults, "\n", 1, math.min(#faults, 40)), "")
  t.ok(count > 3000)
end)

t.test("results at the edges are those of smaller numbers", function()
  local x = rille.arange(1, 6)
  t.eq(rille.unfold(x, 1, 6, math.maxinteger):tolist(), { { 1, 2, 3, 4, 5, 6 } })
  t.eq(rille.slice(x, 1, 2, 6, { step = math.maxinteger }):tolist(), { 2 })
  t.eq(rille.slice(x, 1, 1, math.maxinteger):tolist(), x:tolist())
  t.eq(rille.slice(x, 1, math.mininteger, 2):tolist(), { 1, 2 })
  t.eq(rille.roll(x, math.mininteger):tolist(), rille.roll(x, math.mininteger % 6):tolist())
  t.eq(rille.diff(x, { n = math.maxinteger }):numel(), 0)
  t.eq(select("#", rille.chunk(x, math.maxinteger)), 6)
  t.eq(rille.diagonal(rille.ones(2, 2), { offset = math.mininteger }):numel(), 0)
  t.eq(rille.tril_indices(3, 4, { offset = math.maxinteger }):size(2), 12)
  t.eq(rille.triu_indices(3, 4, { offset = math.mininteger }):size(2), 12)
  t.eq(rille.triu_indices(3, 4, { offset = math.maxinteger }):size(2), 0)
  local w = rille.ones(1, 1, 1)
  local row = rille.rand(1, 1, 5)
  t.ok(rille.equal(rille.conv1d(row, w, { dilation = math.maxinteger }), row))
  t.eq(rille.conv1d(row, w, { stride = math.maxinteger }):item(), row[1][1][1]:item())
  t.eq(rille.max_pool1d(row, { kernel = 1, stride = math.maxinteger }):item(),
    row[1][1][1]:item())
end)

t.test("triangles have the ids that a loop finds", function()
  for rows = 0, 4 do
    for cols = 0, 4 do
      for offset = -6, 6 do
        local lower, upper = { {}, {} }, { {}, {} }
        for i = 1, rows do
          for j = 1, cols do
            local side = j - i <= offset and lower or nil
            if side then table.insert(side[1], i - 1) table.insert(side[2], j - 1) end
            if j - i >= offset then table.insert(upper[1], i - 1) table.insert(upper[2], j - 1) end
          end
        end
        t.eq(rille.tril_indices(rows, cols, { offset = offset }):tolist(), lower)
        t.eq(rille.triu_indices(rows, cols, { offset = offset }):tolist(), upper)
      end
    end
  end
end)

t.test("combinations are in order, and as many as there should be", function()
  local function count(n, r, again)
    return rille.combinations(rille.arange(1, n), { r = r, with_replacement = again }):size(1)
  end
  t.eq(rille.combinations(rille.arange(1, 4), { r = 3 }):tolist(),
    { { 1, 2, 3 }, { 1, 2, 4 }, { 1, 3, 4 }, { 2, 3, 4 } })
  t.eq(rille.combinations(rille.arange(1, 3), { r = 2, with_replacement = true }):tolist(),
    { { 1, 1 }, { 1, 2 }, { 1, 3 }, { 2, 2 }, { 2, 3 }, { 3, 3 } })
  t.eq(count(20, 10), 184756)
  t.eq(count(6, 5, true), 252)
  t.eq(count(3, 5), 0)
  t.eq(count(5, 5), 1)
end)
