-- What the checks of scripts/dev share: the list of our files, their lines, and the report.
local tree = {}

--- Files below the given folders (all of the tree if none), as paths from the top. What git
--- ignores is left out, also where there is no git.
function tree.files(...)
  local folders = table.concat({ ... }, " ")
  local command = ("git ls-files -co --exclude-standard -- %s 2>/dev/null"):format(folders)
  if not os.execute("git rev-parse --is-inside-work-tree >/dev/null 2>&1") then
    command = ("find %s -type f 2>/dev/null | sed 's|^\\./||' | grep -Ev '%s'"):format(
      folders ~= "" and folders or ".", "^(build|build-[^/]*|runs|\\.deps|\\.cache|\\.git)/")
  end
  local files = {}
  for path in io.popen(command):lines() do
    local file <close> = io.open(path)     -- a file that git still lists may be gone
    if file then files[#files + 1] = path end
  end
  table.sort(files)
  return files
end

local source_kinds = { cpp = true, h = true, hpp = true, c = true, cu = true, cuh = true }

--- The extension if the file is C, C++ or CUDA; nil otherwise.
function tree.source_kind(path)
  local kind = path:match("%.(%w+)$")
  return source_kinds[kind] and kind or nil
end

--- The room a path lies in: "runtime/core", "interpreter/lua", "tests", or "runtime" for files that
--- lie directly in it.
function tree.room(path)
  local top, rest = path:match("^([^/]+)/(.*)$")
  if not top then return "" end
  if top ~= "runtime" and top ~= "interpreter" then return top end
  local room = rest:match("^([^/]+)/")
  return room and top .. "/" .. room or top
end

function tree.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

--- Iterates number and text of the lines.
function tree.lines(path)
  local number = 0
  local next_line = io.lines(path)
  return function()
    local line = next_line()
    number = number + 1
    if line then return number, line end
  end
end

--- One finding: path:line: text. tree.finish() ends the program with the verdict.
local findings = {}
function tree.report(path, line, text, ...)
  findings[#findings + 1] = ("%s:%s %s"):format(path, line and line .. ":" or "", text:format(...))
end

function tree.finish(name, checked)
  for _, finding in ipairs(findings) do print(finding) end
  print(("%s: %d files, %d findings"):format(name, checked, #findings))
  os.exit(#findings == 0)
end

return tree
