# Writes every .lua file below ROOT into one C++ file: cmake -DROOT=stdlib -DOUT=file -P embed.cmake
# ROOT/rille/nn/module.lua is the module rille.nn.module, ROOT/rille/nn/init.lua is rille.nn.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.lua)
list(SORT files)

set(rows "")
set(names "")
foreach(path IN LISTS files)
  string(REGEX REPLACE "\\.lua$" "" name "${path}")
  string(REGEX REPLACE "/init$" "" name "${name}")
  string(REPLACE "/" "." name "${name}")
  if(name IN_LIST names)
    message(FATAL_ERROR "two files give the module ${name}; one of them is ${path}")
  endif()
  list(APPEND names "${name}")
  file(READ ${ROOT}/${path} source)
  if(source MATCHES "\\)rille_lua\"")
    message(FATAL_ERROR "${path}: the text )rille_lua\" would end the C++ literal that holds it")
  endif()
  string(APPEND rows "    Module{\"${name}\", R\"rille_lua(${source})rille_lua\"sv},\n")
endforeach()

list(LENGTH names count)
file(WRITE ${OUT} "// Made by scripts/dev/embed.cmake; change the files of stdlib/rille instead.
#include \"stdlib/embedded.h\"

#include <array>

namespace rille::stdlib {
namespace {
using namespace std::string_view_literals;

constexpr std::array<Module, ${count}> kModules{
${rows}};
}  // namespace

std::span<const Module> modules() { return kModules; }

}  // namespace rille::stdlib
")
