-- What a name of the library does and takes, as text: for `.help NAME` and `rille help NAME`.
local native = require "rille.native"
local catalog = require "rille.annotations.catalog"
local nearest = require "rille.nearest"

local kWidth = 78

-- Words with blanks between them as lines; the first begins with `indent`, the others with `next`.
local function wrapped(words, indent, next_indent)
  local lines, line = {}, nil
  for _, word in ipairs(words) do
    if line and #line + 1 + #word > kWidth then
      lines[#lines + 1] = line
      line = next_indent .. word
    else
      line = line and line .. " " .. word or indent .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- "rille.nn.Linear(in, out, { bias = true, device, dtype })"
local function signature(path, entry)
  local words, by_position, options = {}, {}, {}
  for _, param in ipairs(entry.params) do
    by_position[param.name] = true
    local is_table = entry.options and param.type:match "%.options$"
    if not is_table then words[#words + 1] = param.name end
  end
  for _, option in ipairs(entry.options or {}) do
    if not by_position[option.name] then
      options[#options + 1] = option.name .. (option.default and " = " .. option.default or "")
    end
  end
  if #options > 0 then
    options[1] = "{ " .. options[1]
    options[#options] = options[#options] .. " }"
    table.move(options, 1, #options, #words + 1, words)
  end
  for i = 1, #words - 1 do words[i] = words[i] .. "," end
  if #words == 0 then return path .. "()" end
  words[1] = path .. "(" .. words[1]
  words[#words] = words[#words] .. ")"
  return wrapped(words, "", "    ")
end

local function add_option(lines, option, indent)
  local value = option.default and (" (default %s)"):format(option.default)
    or option.required and " (required)" or ""
  local doc = option.doc and option.doc ~= "" and option.doc .. ": " or ""
  lines[#lines + 1] = ("%s%-14s %s%s%s"):format(indent, option.name, doc, option.type, value)
  for _, field in ipairs(option.fields or {}) do add_option(lines, field, indent .. "  ") end
end

-- Params that are no options, too, then options, each once.
local function add_options(lines, entry)
  local named = {}
  for _, option in ipairs(entry.options or {}) do named[option.name] = true end
  local before = #lines
  for _, param in ipairs(entry.params) do
    local is_table = entry.options and param.type:match "%.options$"
    if not named[param.name] and not is_table then
      add_option(lines, {
        name = param.name, type = param.type, doc = param.doc,
        required = not param.optional and param.name ~= "...",
      }, "  ")
    end
  end
  for _, option in ipairs(entry.options or {}) do add_option(lines, option, "  ") end
  if #lines > before then table.insert(lines, before + 1, "") end
end

local function add_names(lines, places)
  local names = {}
  for i, place in ipairs(places) do names[i] = place.name end
  lines[#lines + 1] = ""
  lines[#lines + 1] = wrapped(names, "  ", "  ")
end

local function text_of(place)
  if place.kind == "op" then return native.op_help((place.op and place.op.name) or place.name) end
  if place.kind == "value" then return ("%s: %s"):format(place.path, tostring(place.value)) end
  local entry, lines = catalog.entry(place), {}
  if not entry then                                      -- a table, or objects of a class
    lines[1] = place.path
    add_names(lines, place.places)
    return table.concat(lines, "\n")
  end
  lines[1] = signature(place.path, entry)
  if #entry.doc > 0 then lines[2] = "" end
  for _, line in ipairs(entry.doc) do lines[#lines + 1] = line end
  add_options(lines, entry)
  if entry.results and entry.results[1] and entry.results[1] ~= "any" then
    lines[#lines + 1] = ""
    lines[#lines + 1] = "  gives " .. table.concat(entry.results, ", ")
  end
  if place.places and #place.places > 0 then add_names(lines, place.places) end
  return table.concat(lines, "\n")
end

-- The place whose full name ends with the words asked for; of several the one nearest to the root.
local function ending_with(name)
  local found, depth
  for path, place in catalog.all() do
    if path:sub(-#name - 1) == "." .. name then
      local own = select(2, path:gsub("%.", ""))
      if not found or own < depth or own == depth and path < found.path then
        found, depth = place, own
      end
    end
  end
  return found
end

local function short(path) return (path:gsub("^rille%.", "")) end

local function is_capital(name) return name:find "^%u" ~= nil end

-- The known name nearest to a misspelt one: whole names if it has a dot, else last parts, those of
-- classes for a capital.
local function suggestion(name)
  local names, alike, shown = {}, {}, {}
  for path in catalog.all() do
    local word = name:find(".", 1, true) and short(path) or path:match "[^.]*$"
    local now = shown[word]
    if not now then
      names[#names + 1] = word
      if is_capital(word) == is_capital(name) then alike[#alike + 1] = word end
    end
    if not now or #path < #now or #path == #now and path < now then shown[word] = path end
  end
  local near = nearest(name, alike) or nearest(name, names)
  return near and (" (did you mean '%s'?)"):format(short(shown[near])) or ""
end

-- The text for a name; `value` is what the asker means by it, if that is known. Without one: why.
return function(name, value)
  local method = name:match ":([%w_]+)$"
  name = short(name:gsub(":", "."))
  local op = value == nil and native.op_help(name)
  if op then return op end
  local place = value ~= nil and catalog.of(value) or catalog.at("rille." .. name)
    or catalog.at(name) or method and catalog.at("Tensor." .. method) or ending_with(name)
  if place then return text_of(place) end
  return nil, ("there is no command and no name '%s'%s"):format(name, suggestion(name))
end
