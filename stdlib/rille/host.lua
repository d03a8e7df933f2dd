-- Where a host brought the Lua: `require "rille"` from a stock interpreter. Its libraries stay as
-- they are unless a script asks for those of `rille run`.
local native = require "rille.native"

local host = {}

-- True in a Lua that is not the program's own.
host.is_stock = native.install_prelude ~= nil

-- From now on the state has what `rille run` gives a script: text chunks only, no C modules,
-- bounded coroutines, `debug` with traceback and getinfo alone, the generational collector. print
-- and os.exit stay the host's. Under `rille run` it does nothing.
function host.prelude()
  if native.install_prelude then native.install_prelude() end
end

return host
