-- rille.amp.is_available: whether autocast can compute in a dtype on a device, and why not.
local native = require "rille.native"
local check = require "rille.check"

local available = {}

-- True, or false and the reason. Without a dtype it is about the device's own: f16 for cuda, bf16
-- for the others.
--: device: string, dtype?: string -> boolean, string?
function available.is_available(device, dtype)
  check("is_available", "device", device, { type = "string" })
  return native.autocast_available(device, dtype)
end

return available
