-- nn.Checkpoint: a module whose calls are checkpoint blocks. It stays the module that it is, so
-- the names of its parameters, and with them its checkpoint files, stay the same.
local check = require "rille.check"
local fail = require "rille.fail"
local hooks = require "rille.nn.hooks"

-- The module, whose calls are blocks of rille.checkpoint from now on; with a table of options those
-- of rille.checkpointer, or what that gave; with false they are plain calls again. Hooks of the
-- module run outside of the block, once.
--: module: rille.nn.Module, options?: table|fun|false -> rille.nn.Module
local function Checkpoint(module, options)
  check("Checkpoint", "module", module, { type = "rille.nn.Module" })
  local block
  if type(options) == "function" then
    block = options
  elseif options ~= false then
    if options ~= nil and type(options) ~= "table" then
      fail.type("Checkpoint", "options", "a table, a function or false", options)
    end
    block = require "rille.checkpoint".checkpointer(options)
  end
  hooks.set_block(module, block)
  return module
end

return { Checkpoint = Checkpoint }
