-- luacheck: Lua 5.4 as it is, and nothing global but what Lua gives.
std = "lua54"
max_line_length = false   -- scripts/dev/sizes measures columns
self = false            -- methods need not use self
ignore = {
  "512",                -- `for _ in pairs(t) do return false end` asks whether t is empty
  "581",                -- `not (x >= 0)` is true for nan, and meant so
  "212/_.*",            -- an argument that starts with _ is unused on purpose
  "213/_.*",            -- so is a loop variable
}
files["tests/lua"] = { ignore = { "211/_.*" } }
files["scripts/hosts"] = { ignore = { "11[13]", "131" } }   -- globals are a host's
