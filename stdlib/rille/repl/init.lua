-- The interactive shell: a native reads lines and hands them to the session, asks what a word may
-- become, and comes back where the user leaves. A file is loaded first.
local native = require "rille.native"
local Session = require "rille.repl.session"
local complete = require "rille.repl.complete"

return function(path)
  local session = Session.new()
  local function feed(line)
    local came = session:feed(line)
    return session.over and "over" or came == "more" and "more" or nil
  end
  native.read_lines(feed, function(text) return complete(session, text) end,
    function() session:abandon() end, path and ".load " .. path)
end
