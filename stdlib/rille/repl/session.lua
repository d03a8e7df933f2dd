-- What an interactive session knows: its variables, its last results, the input that is not
-- complete yet. It takes lines and says what came of them; reading and editing them is somebody
-- else's.
local native = require "rille.native"
local commands = require "rille.repl.commands"
local lift = require "rille.repl.lift"
local Record = require "rille.repl.record"
local show = require "rille.repl.show"

local Session = {}
Session.__index = Session

local kResults = 3

-- Names that inputs see: locals of the session, the last results, then what scripts see.
local function environment(session)
  local declared = session.declared
  return setmetatable({}, {
    __index = function(_, name)
      local place = type(name) == "string" and tonumber(name:match "^_(%d)$")
      if place and session.results[place] then return session.results[place][1] end
      if not declared[name] then return _G[name] end
    end,
    __newindex = function(env, name, value)
      if session.pending[name] then declared[name] = true end
      if declared[name] then rawset(env, name, value) else _G[name] = value end
    end,
  })
end

function Session.new()
  local self = setmetatable({ declared = {}, pending = {}, results = {}, inputs = 0 }, Session)
  self.texts = {}                                        -- of inputs, by the names of their chunks
  self.record = Record.new()                             -- of those that went well
  self.constants = {}                                    -- locals that are <const>
  self.env = environment(self)
  return self
end

-- The first of an input's results is _1, that of the one before _2 and of the one before that _3. A
-- large tensor is remembered for as long as something else holds it, too.
function Session:remember(value)
  local large = native.is_tensor(value) and value:nbytes() > native.memory_budget() // 20
  table.insert(self.results, 1, setmetatable({ value }, { __mode = large and "v" or nil }))
  self.results[kResults + 1] = nil
end

local function is_incomplete(problem)
  return problem:find "<eof>'?$" ~= nil
end

-- Error objects tell their place themselves; others get the calls that led there, without ours.
local function error_text(err)
  if type(err) == "table" then return err end
  local trace = tostring(err) .. "\n" .. debug.traceback(nil, 2)
  trace = trace:gsub("\n%s*rille:rille%.repl.*", ""):gsub("\n%s*%[C%]: in function 'xpcall'.*", "")
  return (trace:gsub("\nstack traceback:\n%s*input:%d+:%d+: in [^\n]*$", ""))
end

-- Statements as a chunk whose locals are the session's. Without a chunk: why.
function Session:compile_statements(text, name)
  local ok, problem = load(text, name, "t", self.env)
  if not ok then return nil, problem end
  local lifted, names, closes = lift(text)
  self.pending = names
  if closes then print "(what is marked <close> ends with this input)" end
  return assert(load(lifted, name, "t", self.env))
end

-- What Lua says of text that assigns to a local of the session that is <const>; else nil.
function Session:constant_problem(text, name)
  local constants = ""
  for constant in pairs(self.constants) do
    if text:find("%f[%w_]" .. constant .. "%f[^%w_]") then
      constants = constants .. ("local %s <const> = 0 "):format(constant)
    end
  end
  if constants == "" then return nil end
  for _, start in ipairs { "", "return " } do
    local fine = load(start .. text, name, "t")
    local _, problem = load(constants .. start .. text, name, "t")
    local assigns = problem and problem:find "attempt to assign to const variable"
    if fine and assigns then return problem end
  end
end

-- An expression's chunk, or nil. Its values go through table.pack, lest a call in it be a tail
-- call, of which an error's text could not tell the place.
function Session:compile_expression(text, name)
  local values = text:gsub(";%s*$", "")
  -- One that names `...` must not find table.pack there: there are no words at the prompt.
  if values:find("...", 1, true) then return load("return " .. values, name, "t", self.env) end
  local call = "return (...)(" .. values
  -- On its own line where it must be, after a comment: errors of the last value have its line.
  local packed = load(call .. ")", name, "t", self.env) or load(call .. "\n)", name, "t", self.env)
  return packed and function()
    local got = packed(table.pack)
    return table.unpack(got, 1, got.n)
  end
end

-- The chunk of an input, as an expression if it is one. Without a chunk: why, and whether more text
-- could help.
function Session:compile(text)
  local name = ("=input:%d"):format(self.inputs + 1)
  local refused = self:constant_problem(text, name)
  if refused then return nil, refused end
  local chunk = self:compile_expression(text, name)
  if not chunk then
    local problem
    chunk, problem = self:compile_statements(text, name)
    if not chunk then return nil, problem, is_incomplete(problem) end
  end
  self.inputs = self.inputs + 1
  native.remember_chunk(name, text)
  self.texts[name] = text
  return chunk
end

-- Runs the text of a file, with the words in `arg`. What it returns is _1 then.
function Session:take(text, path)
  local name = "@" .. path
  text = text:gsub("^#[^\n]*", "")
  local chunk, problem = nil, self:constant_problem(text, name)
  if not problem then chunk, problem = self:compile_statements(text, name) end
  if not chunk then return show.complain(problem) end
  local words = rawget(_G, "arg") or {}
  local good, gave = self:run(function() return chunk(table.unpack(words)) end, true)
  if good then self.record:add(text, gave, path) end
  return good
end

-- Runs a chunk of the session; its results come after true. An error has been shown.
function Session:call(chunk, ...)
  local results = table.pack(xpcall(chunk, error_text, ...))
  if results[1] then
    for name, kind in pairs(self.pending) do self.constants[name] = kind == "const" or nil end
  end
  self.pending = {}
  if results[1] then return table.unpack(results, 1, results.n) end
  return show.complain(results[2])
end

-- Whether it went well, and whether it gave values.
function Session:run(chunk, silent)
  local results = table.pack(self:call(chunk))
  if not results[1] or results.n == 1 then return results[1], false end
  self:remember(results[2])
  if silent then return true, true end
  local texts = {}
  for k = 2, results.n do texts[k - 1] = show.value(results[k]) end
  print(table.concat(texts, "\t"))
  return true, true
end

-- Takes one more line. "more" where the input is not complete; else whether all went well.
function Session:feed(line)
  local text = self.buffer and self.buffer .. "\n" .. line or line
  self.buffer = nil
  if not text:find "%S" then return true end
  if text == line then
    local command, rest = commands.parse(line)
    if command then return commands.run(self, command, rest) end
  end
  local chunk, problem, incomplete = self:compile(text)
  if chunk then
    local good, gave = self:run(chunk, text:find ";%s*$" ~= nil)
    if good then self.record:add(text, gave) end
    return good
  end
  if incomplete then
    self.buffer = text
    return "more"
  end
  return show.complain(problem)
end

-- Gives up what has been typed.
function Session:abandon()
  self.buffer = nil
end

return Session
