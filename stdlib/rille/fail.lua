-- How the Lua half raises: error objects by kind and code, with the nearest name where a name is
-- unknown. The engine adds the script's position and assembles the text (native.raise).
local native = require "rille.native"
local nearest = require "rille.nearest"

local fail = {}

-- `error` holds kind, code, op, message and may hold hint, facts (a list of lines) and status.
fail.raise = native.raise

function fail.argument(op, message, ...)
  return native.raise { kind = "argument", code = "E_ARG", op = op, message = message:format(...) }
end

function fail.describe(value)
  local kind = type(value)
  if native.is_tensor(value) then return "a tensor" end
  if kind == "string" then return ("string '%s'"):format(native.shown(value)) end
  if kind == "nil" or kind == "boolean" or kind == "number" then return tostring(value) end
  return "a " .. kind
end

function fail.type(op, name, wanted, got)
  local given = fail.describe(got)
  local message = ("'%s' must be %s, got %s"):format(name, wanted, given)
  return native.raise { kind = "argument", code = "E_TYPE", op = op, message = message }
end

-- " (did you mean 'x'?)", or "" where nothing is near.
function fail.suggestion(name, known)
  local guess = nearest(name, known)
  return guess and (" (did you mean '%s'?)"):format(guess) or ""
end

function fail.unknown(op, what, name, known)
  return native.raise {
    kind = "argument", code = "E_OPTION", op = op,
    message = ("unknown %s '%s'%s"):format(what, native.shown(name),
      fail.suggestion(name, known)),
    facts = #known > 0 and { "takes: " .. table.concat(known, ", ") } or nil,
  }
end

-- Options that exclude each other, or a state in which a call makes no sense.
function fail.option(op, message, ...)
  message = message:format(...)
  return native.raise { kind = "argument", code = "E_OPTION", op = op, message = message }
end

function fail.state(op, message, ...)
  return native.raise { kind = "state", code = "E_STATE", op = op, message = message:format(...) }
end

-- A wrong command line: the shell prints it and ends with status 2.
function fail.usage(op, message, hint)
  return native.raise { kind = "usage", code = "E_USAGE", op = op, message = message, hint = hint }
end

-- Ends the script quietly with this exit status; a host gets it as an error object of kind "exit".
-- The stock interpreter would print that, so there the program ends, with its state closed.
function fail.exit(status)
  if native.install_prelude then os.exit(status, true) end
  return native.raise {
    kind = "exit", code = "E_EXIT", status = status, message = "exit with status " .. status,
  }
end

return fail
