-- A plan as text: a table for people, or a JSON object a line.
local native = require "rille.native"
local sizes = require "rille.sizes"

local show = {}

local columns = {
  { "parameters" }, { "gradients" }, { "optimizer" }, { "buckets" }, { "buffers" }, { "data" },
  { "activations" }, { "peak" },
}

-- 10745088 as "10,745,088".
local function grouped(n)
  local text = ("%d"):format(n)
  local head = #text % 3
  return (text:sub(1, head) .. text:sub(head + 1):gsub("%d%d%d", ",%0")):gsub("^,", "")
end

local function count_text(n)
  for _, unit in ipairs { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" } } do
    if n >= unit[1] then return ("%.2f %s"):format(n / unit[1], unit[2]) end
  end
  return ("%d"):format(n)
end

local function blocks_text(blocks)
  if type(blocks) == "table" then return native.shown(tostring(blocks.policy or "full")) end
  return blocks and native.shown(tostring(blocks)) or "off"
end

local function share_text(row)
  return ("%+.1f %%"):format(row.flops > 0 and 100 * row.extra / (row.flops - row.extra) or 0)
end

local function cells_of(row, nproc)
  local cells = { row.amp, blocks_text(row.blocks) }
  for _, column in ipairs(columns) do
    local name = column[1]
    if name ~= "buckets" or nproc > 1 then
      cells[#cells + 1] = row[name] > 0 and sizes.text(row[name]) or "-"
    end
  end
  cells[#cells + 1] = count_text(row.flops)
  cells[#cells + 1] = row.blocks and share_text(row) or "-"
  cells[#cells + 1] = row.default and "*" or ""
  return cells
end

local function header(nproc)
  local cells = { "precision", "blocks" }
  for _, column in ipairs(columns) do
    if column[1] ~= "buckets" or nproc > 1 then cells[#cells + 1] = column[1] end
  end
  cells[#cells + 1] = "FLOPs"
  cells[#cells + 1] = "extra"
  cells[#cells + 1] = ""
  return cells
end

local function print_table(lines)
  local widths = {}
  for _, cells in ipairs(lines) do
    for i, cell in ipairs(cells) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  for _, cells in ipairs(lines) do
    local text = {}
    for i, cell in ipairs(cells) do
      local space = (" "):rep(widths[i] - #cell)
      text[i] = i <= 2 and cell .. space or space .. cell
    end
    print((table.concat(text, "  "):gsub("%s+$", "")))
  end
end

-- How rille run is told of a setting.
local function flags_of(row)
  local text = "--amp " .. row.amp
  if row.blocks then text = text .. " --checkpoint-blocks " .. blocks_text(row.blocks) end
  return native.shown(text)
end

function show.verdict(plan)
  local room = sizes.text(plan.memory)
  if not plan.best then
    return ("nothing fits into %s; the smallest is %s with %s"):format(room,
      flags_of(plan.smallest), sizes.text(plan.smallest.peak))
  end
  return ("fits into %s with the fewest operations: %s, %s"):format(room, flags_of(plan.best),
    sizes.text(plan.best.peak))
end

-- `plan` holds recipe (a name), script, rows, refused (why not some policies), nproc; and where
-- memory was given memory, best and smallest.
function show.text(plan)
  local first = plan.rows[1]
  print(("%s: %s parameters%s"):format(native.shown(plan.recipe), grouped(first.numbers),
    plan.nproc > 1 and (", each of %d processes"):format(plan.nproc) or ""))
  local lines = { header(plan.nproc) }
  for i, row in ipairs(plan.rows) do lines[i + 1] = cells_of(row, plan.nproc) end
  print_table(lines)
  print "* as rille run does it; FLOPs are additions and multiplications of a step"
  for _, refused in ipairs(plan.refused) do
    print(("not with checkpoint blocks: %s"):format(native.shown(refused)))
  end
  if plan.memory then print(show.verdict(plan)) end
end

function show.json(plan)
  for _, row in ipairs(plan.rows) do
    local fits, best
    if plan.memory then fits, best = row.peak <= plan.memory, row == plan.best end
    print(native.json_encode {
      recipe = plan.recipe, script = plan.script, nproc = plan.nproc, precision = row.amp,
      blocks = blocks_text(row.blocks), default = row.default, parameters = row.numbers,
      parameter_bytes = row.parameters, gradient_bytes = row.gradients,
      optimizer_bytes = row.optimizer, bucket_bytes = row.buckets, buffer_bytes = row.buffers,
      data_bytes = row.data, activation_bytes = row.activations, peak_bytes = row.peak,
      flops = row.flops, extra_flops = row.extra, memory_bytes = plan.memory, fits = fits,
      best = best,
    })
  end
end

return show
