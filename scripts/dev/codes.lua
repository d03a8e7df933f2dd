-- Error codes are an interface: each one in the sources has a row in docs/errors.md.
package.path = "scripts/dev/?.lua;" .. package.path
local tree = require "tree"

local listed = {}
for code in tree.read("docs/errors.md"):gmatch("`([EW]_[%u%d_]+)`") do listed[code] = true end

local checked = 0
for _, path in ipairs(tree.files("runtime", "interpreter", "stdlib")) do
  if tree.source_kind(path) or path:find("%.lua$") then
    checked = checked + 1
    for number, text in tree.lines(path) do
      for code in text:gmatch("[\"']([EW]_[%u%d_]+)[\"']") do
        if not listed[code] then
          tree.report(path, number, "%s is not in docs/errors.md", code)
        end
      end
    end
  end
end
tree.finish("codes", checked)
