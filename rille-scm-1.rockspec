-- LuaRocks: from a clone, `luarocks --lua-version 5.4 make` (docs/stock-lua.md). It builds rille.so
-- and nothing else.
rockspec_format = "3.0"
package = "rille"
version = "scm-1"
source = {
  url = "git+file://.", -- the clone that this file lies in
}
description = {
  summary = "A training engine for Lua: tensors, autograd, layers, optimizers, data, recipes",
  license = "MIT",
  labels = { "machine-learning", "tensor", "autograd" },
}
supported_platforms = { "linux" }
dependencies = {
  "lua >= 5.4, < 5.5",
}
external_dependencies = {
  ZLIB = { header = "zlib.h" },
  FMT = { header = "fmt/format.h" },
}
build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    RILLE_TESTS = "OFF",
    RILLE_MODULE_ONLY = "ON",
  },
  install_pass = false,
  install = {
    lib = {
      rille = "build.luarocks/lua/rille.so",
    },
  },
}
