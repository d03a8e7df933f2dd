-- Runs workloads for Rille and for PyTorch in turn, A B A B, and prints one table of medians and
-- ratios. ./dev bench calls it; README.md states the protocol.
--   lua5.4 benchmarks/run.lua --rille PROGRAM --python PROGRAM [NAME...] [options]
package.path = "benchmarks/?.lua;" .. package.path
local workloads = require "targets"

local kUsage = [[
usage: ./dev bench [NAME...] [--threads 1|2] [--rounds N] [--quick]
  NAME         a workload; all of them if none is named:
               %s
  --threads N  of both programs, each on a processor of its own (default 2)
  --rounds N   times that each program runs, in turn with the other (default 3)
  --quick      one round of few repetitions: shows that it runs, measures nothing
]]

-- glibc then neither maps large blocks anew nor hands freed memory back.
local kTuned = "MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=8589934592 "
  .. "MALLOC_TOP_PAD_=268435456 BENCH_PEER=tuned "

local function usage(problem)
  local names = {}
  for i, workload in ipairs(workloads) do names[i] = workload.name end
  local text = kUsage:format(table.concat(names, " "))
  if not problem then
    io.write(text)
    os.exit(0)
  end
  io.stderr:write("bench: ", problem, "\n", text)
  os.exit(2)
end

local function parse(words)
  local o = { names = {}, threads = 2, rounds = 3, quick = false }
  local i = 1
  while words[i] do
    local word = words[i]
    if word == "--help" or word == "-h" then usage() end
    if word == "--quick" then
      o.quick = true
    elseif word == "--threads" or word == "--rounds" then
      i = i + 1
      local n = math.tointeger(tonumber(words[i]))
      if not n or n < 1 then usage(word .. " wants a number from 1") end
      o[word:sub(3)] = n
    elseif word == "--rille" or word == "--python" then
      i = i + 1
      o[word:sub(3)] = words[i]
    elseif word:sub(1, 1) == "-" then
      usage(("unknown option '%s'"):format(word))
    else
      o.names[#o.names + 1] = word
    end
    i = i + 1
  end
  if not o.rille or not o.python then usage "--rille and --python are missing" end
  if o.quick then o.rounds = 1 end
  return o
end

local function chosen(names)
  if #names == 0 then return workloads end
  local list = {}
  for _, name in ipairs(names) do
    local before = #list
    for _, workload in ipairs(workloads) do
      if workload.name == name then list[#list + 1] = workload end
    end
    if #list == before then usage(("there is no workload '%s'"):format(name)) end
  end
  return list
end

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  local text = pipe:read "a"
  return text, pipe:close() == true                      -- nil where the program failed
end

-- The last n of the processors that this process may use, as taskset takes them.
local function processors(n)
  local text, list = output_of("sh -c 'taskset -cp $$'"):match ":%s*(%S+)", {}
  for first, last in text:gmatch "(%d+)%-?(%d*)" do
    for cpu = tonumber(first), tonumber(last) or tonumber(first) do list[#list + 1] = cpu end
  end
  if #list < n then usage(("%d threads, but %d processors"):format(n, #list)) end
  return table.concat(list, ",", #list - n + 1)
end

local function quote(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end

-- The command of one run of one peer; of one case if it has a process of its own.
local function command_of(o, workload, peer, case)
  local program = quote(o.python) .. " benchmarks/torch/" .. workload.name .. ".py"
  if peer == "rille" then
    program = quote(o.rille) .. " run benchmarks/" .. workload.name .. ".lua"
  end
  return ("taskset -c %s env %sLUA_PATH='benchmarks/?.lua;;' RILLE=%s OMP_NUM_THREADS=%d "
    .. "MKL_NUM_THREADS=%d %s --threads %d --folder %s%s%s"):format(o.processors,
    peer == "tuned" and kTuned or "", quote(o.rille), o.threads, o.threads, program, o.threads,
    quote(o.folder), case and " --case " .. case or "", o.quick and " --quick" or "")
end

-- Adds the figures of one run to results[case][peer]; false if the program failed.
local function run(o, workload, peer, only, results)
  local text, ok = output_of(command_of(o, workload, peer, only))
  for line in text:gmatch "[^\n]+" do
    local case, unit = line:match '"case": "([^"]+)"', line:match '"unit": "([^"]+)"'
    local median = tonumber(line:match '"median": ([^,}]+)')
    o.log:write(line, "\n")
    if case and median then
      local row = results[case]
      if not row then
        row = { case = case, unit = unit }
        results[case], results[#results + 1] = row, row
      end
      row[peer] = row[peer] or {}
      table.insert(row[peer], median)
    end
  end
  if not ok then io.stderr:write(("bench: %s failed for %s\n"):format(workload.name, peer)) end
  return ok
end

local function median(list)
  if not list then return nil end
  table.sort(list)
  local half = #list // 2
  return #list % 2 == 1 and list[half + 1] or (list[half] + list[half + 1]) / 2
end

local function with_unit(value, unit)
  if not value then return "-" end
  if unit ~= "ms" then return ("%.0f %s"):format(value, unit) end
  if value < 1e-3 then return ("%.0f ns"):format(value * 1e6) end
  if value < 0.1 then return ("%.2f us"):format(value * 1e3) end
  return ("%.4g ms"):format(value)
end

local function quotient(ours, theirs)
  return ours and theirs and ("%.2f"):format(ours / theirs) or "-"
end

-- The target as text, and by what factor the case misses it (1 or less: it is reached).
local function verdict(must, ours, theirs)
  if not must then return "-", nil end
  if type(must) == "number" then
    return ("%.2f"):format(must), ours and theirs and ours / theirs / must
  end
  local bound, unit = must.ms or must.mb, must.ms and "ms" or "MB"
  if must.of and theirs then bound = bound * math.max(1, theirs / must.of) end
  return with_unit(bound, unit), ours and ours / bound
end

local kColumns = "%-5s %-32s %11s %11s %7s %8s %9s  %s\n"

local function print_rows(workload, results)
  local targets = {}
  for _, case in ipairs(workload.cases) do targets[case[1]] = case end
  for _, row in ipairs(results) do
    local target = targets[row.case] or {}
    local other = results[target.against] or row
    local ours, theirs, tuned = median(row.rille), median(other.torch), median(row.tuned)
    local must, factor = verdict(target[2], ours, theirs)
    local remark = factor and (factor <= 1 and "reached" or ("misses by %.2f"):format(factor)) or ""
    if other ~= row then remark = ("%s (PyTorch's %s)"):format(remark, other.case) end
    io.write(kColumns:format(workload.id, workload.name .. "/" .. row.case,
      with_unit(ours, row.unit), with_unit(theirs, row.unit), quotient(ours, theirs),
      quotient(ours, tuned), must, remark))
  end
  io.flush()
end

-- All rounds of one workload; false if a program failed. Cases with processes of their own take
-- their rounds one case after the other: what drifts in seconds then meets both programs alike.
local function measure(o, workload)
  local results, ok = {}, true
  local peers = workload.tuned and { "rille", "torch", "tuned" } or { "rille", "torch" }
  for _, case in ipairs(workload.apart or { false }) do
    for round = 1, math.min(o.rounds, workload.rounds or o.rounds) do
      for _, peer in ipairs(peers) do
        io.stderr:write(("bench: %s, round %d, %s\n"):format(
          case and workload.name .. "/" .. case or workload.name, round, peer))
        ok = run(o, workload, peer, case, results) and ok
      end
    end
  end
  print_rows(workload, results)
  return ok
end

local o = parse(arg)
local list = chosen(o.names)
o.processors = processors(o.threads)
o.folder = "build/bench"
assert(os.execute("mkdir -p " .. o.folder))
o.log = assert(io.open(o.folder .. "/last.jsonl", "w"))
o.log:setvbuf "line"
io.write(kColumns:format("", "workload/case", "ours", "PyTorch", "ratio", "to tuned", "must", ""))
local ok = true
for _, workload in ipairs(list) do ok = measure(o, workload) and ok end
os.exit(ok)
