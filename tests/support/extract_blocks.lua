-- Writes the runnable ```lua blocks of a Markdown page as FOLDER/PAGE:LINE.lua, padded with empty
-- lines so that line numbers are the page's own: extract_blocks.lua PAGE FOLDER
local page, folder = arg[1], arg[2]
local name = page:match("([^/]+)%.md$")

local line_number, block, start = 0, nil, nil
for line in io.lines(page) do
  line_number = line_number + 1
  if block and line:match("^%s*```%s*$") then
    local out = assert(io.open(("%s/%s:%d.lua"):format(folder, name, start), "w"))
    out:write(("\n"):rep(start), table.concat(block, "\n"), "\n")
    out:close()
    block = nil
  elseif block then
    block[#block + 1] = line
  elseif line:match("^%s*```lua%s*$") then
    block, start = {}, line_number
  end
end
if block then error(("%s:%d: the block is never closed"):format(page, start), 0) end
