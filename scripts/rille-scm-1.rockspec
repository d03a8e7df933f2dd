-- `luarocks --lua-version 5.4 make scripts/rille-scm-1.rockspec` in a clone builds and installs
-- rille.so, and nothing else (docs/stock-lua.md).
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
