-- rille.memory.snapshot(path): one page for a browser, with nothing outside of it and no script.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local timeline = require "rille.memory.timeline"

-- Eight hues that are told apart in either scheme, by lightness, too.
local style = [[
:root{color-scheme:light dark;--ink:#1c2024;--dim:#5b6470;--line:#d5dae0;--page:#fff;
--c1:#1f6fb2;--c2:#e07b1a;--c3:#2f9e62;--c4:#c2407f;--c5:#7a55c7;--c6:#a88a12;--c7:#12949c;
--c8:#9aa3ad}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--dim:#9aa4af;--line:#3a4149;--page:#15181b;
--c1:#5aa5e6;--c2:#f2a35a;--c3:#5cc78b;--c4:#e879ab;--c5:#a98cf0;--c6:#d3b84a;--c7:#4cc3ca;
--c8:#6b747e}}
body{margin:2rem auto;max-width:62rem;padding:0 1rem;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
p{color:var(--dim);margin:.25rem 0}svg{width:100%;height:auto;display:block}
svg text{fill:var(--dim);font:12px system-ui,sans-serif}
.keys{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.5rem 0;padding:0;list-style:none}
.keys i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem .3rem 0;
border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--dim);font-weight:500}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.bar{width:9rem}.bar b{display:block;height:.7em;margin-top:.4em;background:var(--c1);
border-radius:2px;min-width:1px}
]]

local function escaped(text)
  return (native.shown(text):gsub("[&<>\"]", {
    ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
  }))
end

local function size_text(bytes)
  local units, i = { "B", "KiB", "MiB", "GiB", "TiB" }, 1
  while bytes >= 1024 and i < #units do bytes, i = bytes / 1024, i + 1 end
  return (i == 1 and "%d %s" or "%.2f %s"):format(bytes, units[i])
end

local wide, high, left, foot = 960, 300, 84, 24

-- A round number of bytes, of which at most five are below `most`.
local function tick_of(most)
  local tick = 2 ^ math.floor(math.log(math.max(most, 1) / 4, 2))
  return most / tick > 5 and tick * 2 or tick
end

local function chart(line)
  local most = 1
  for _, column in ipairs(line.columns) do most = math.max(most, column.allocated, column.total) end
  local step = (wide - left) / #line.columns
  local function y(bytes) return high - bytes / most * (high - 10) end
  local out = {
    ('<svg viewBox="0 0 %d %d" role="img" aria-label="bytes over time">'):format(wide, high + foot),
  }
  local tick = tick_of(most)
  for bytes = 0, most, tick do
    out[#out + 1] = ('<path d="M%d %.1fH%d" stroke="var(--line)"/><text x="%d" y="%.1f" \z
      text-anchor="end">%s</text>'):format(left, y(bytes), wide, left - 8, y(bytes) + 4,
      size_text(bytes))
  end
  local floor = {}
  for c = 1, #line.columns do floor[c] = 0 end
  for i = 1, #line.names do
    local up, down = {}, {}
    for c, column in ipairs(line.columns) do
      local from, to = left + (c - 1) * step, left + c * step
      local below, above = y(floor[c]), y(floor[c] + column[i])
      up[c] = ("L%.1f %.1fL%.1f %.1f"):format(from, above, to, above)
      table.insert(down, 1, ("L%.1f %.1fL%.1f %.1f"):format(to, below, from, below))
      floor[c] = floor[c] + column[i]
    end
    out[#out + 1] = ('<path d="M%s%sZ" fill="var(--c%d)"><title>%s</title></path>'):format(
      table.concat(up):sub(2), table.concat(down), math.min(i, 8), escaped(line.names[i]))
  end
  local all = {}
  for c, column in ipairs(line.columns) do
    local at = y(math.max(column.allocated, column.total))
    all[c] = ("L%.1f %.1fL%.1f %.1f"):format(left + (c - 1) * step, at, left + c * step, at)
  end
  out[#out + 1] = ('<path d="M%s" fill="none" stroke="var(--ink)" stroke-width="1.2"/>'):format(
    table.concat(all):sub(2))
  out[#out + 1] = ('<text x="%d" y="%d">0 s</text><text x="%d" y="%d" text-anchor="end">%.3g s\z
    </text></svg><ul class="keys">'):format(left, high + 18, wide, high + 18, line.seconds)
  for i, name in ipairs(line.names) do
    out[#out + 1] = ('<li><i style="background:var(--c%d)"></i><code>%s</code>%s</li>'):format(
      math.min(i, 8), escaped(name), line.most[i] and ", up to " .. size_text(line.most[i]) or "")
  end
  out[#out + 1] = "</ul>"
  return table.concat(out, "\n")
end

local function what(h)
  if h.tape then return "of the tape" end
  return ("%s[%s]%s"):format(h.dtype, table.concat(h.shape, ", "), h.gradient and " gradient" or "")
end

local function holders_table(holders)
  local out, most, rest, shown = {}, holders[1] and holders[1].bytes or 1, 0, 100
  for i, h in ipairs(holders) do
    if i <= shown then
      out[#out + 1] = ('<tr><td class="n">%s</td><td class="bar"><b style="width:%.1f%%"></b></td>\z
        <td class="n">%d</td><td><code>%s</code></td><td><code>%s</code></td><td><code>%s</code>\z
        </td></tr>'):format(size_text(h.bytes), 100 * h.bytes / math.max(most, 1), h.count,
        escaped(what(h)), escaped(h.op or ""), escaped(h.line or ""))
    else
      rest = rest + h.bytes
    end
  end
  local head = '<table><thead><tr><th class="n">bytes</th><th></th><th class="n">count</th>\z
    <th>what</th><th>op</th><th>line</th></tr></thead><tbody>'
  return head .. table.concat(out, "\n") .. "</tbody></table>" ..
    (rest > 0 and ("<p>and %s in smaller ones</p>"):format(size_text(rest)) or "")
end

return function(holders, path)
  check("memory.snapshot", "path", path, { type = "string" })
  local stats, line = rille.memory.stats(), timeline()
  local over_time = line and ('<p>The last %d times that a block of 1 MiB or more was made or \z
    freed, by the op and line that made it; the thin line is all tensors together.</p>%s'):format(
    line.events, chart(line)) or "<p>No block of 1 MiB or more has been made yet.</p>"
  native.write_file(path, table.concat({
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    "<title>Rille: memory</title><style>" .. style .. "</style></head><body>",
    "<h1>Memory of tensors</h1>",
    ("<p>%s now, %s at most, %s taken from the system; %d allocations so far</p>"):format(
      size_text(stats.allocated), size_text(stats.peak), size_text(stats.reserved),
      stats.allocations),
    "<h2>Over time</h2>", over_time,
    "<h2>Held now</h2>", holders_table(holders), "</body></html>\n",
  }, "\n"))
end
