-- W1: a process from nothing to the sum of two tensors, and the memory it took.
local rille = require "rille"
local measure = require "measure"

local program = os.getenv "RILLE" or "rille"
local script = [[
  local rille = require "rille"
  assert((rille.ones(1) + 1):item() == 2)
  for line in io.lines "/proc/self/status" do
    local kb = line:match "VmHWM:%s*(%d+)"
    if kb then print(kb) end
  end
]]
local command = ("exec '%s' run -e '%s'"):format(program, script)

local times, memory = {}, {}
for i = 0, measure.args.quick and 3 or 20 do
  local start = rille.clock()
  local pipe <close> = assert(io.popen(command))
  local kb = assert(tonumber(pipe:read "a"), "the program did not start")
  if i > 0 then                                          -- the first one reads the files
    times[i], memory[i] = (rille.clock() - start) * 1e3, kb / 1024
  end
end
measure.report("start", times)
measure.report("memory", memory, "MB")
