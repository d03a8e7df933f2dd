-- The interactive shell: a native reads lines and hands them to the session, asks what a word may
-- become, and comes back where the user leaves.
local rille = require "rille"
local native = require "rille.native"
local Session = require "rille.repl.session"
local complete = require "rille.repl.complete"

-- After `count` come as many inputs that are taken first, and then, as `rille run` has them, a
-- script, or -e where the inputs are all, with the words for it.
return function(count, ...)
  local words = { ... }
  count = math.tointeger(tonumber(count))
  local first = table.move(words, 1, count, 1, {})
  local script = words[count + 1]
  _G.arg = table.move(words, count + 1, #words, 0, {})
  if script == "-e" then
    _G.arg[0] = "(command line)"
  elseif script then
    first[#first + 1] = ".load " .. script
  end
  local session = Session.new()
  _G.rille = rille                                       -- what the shell is for needs no word
  session.record:add 'local rille = require "rille"'     -- but scripts that .save writes do
  local function feed(line)
    local came = session:feed(line)
    return session.over and "over" or came == "more" and "more" or nil
  end
  native.read_lines(feed, function(text) return complete(session, text) end,
    function() session:abandon() end, first)
end
