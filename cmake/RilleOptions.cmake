# Flags that every target shares, in one interface target: rille_options.
find_program(RILLE_CCACHE ccache)
if(RILLE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RILLE_CCACHE})
endif()

add_library(rille_options INTERFACE)
target_compile_options(rille_options INTERFACE -Wall -Wextra -Wconversion -Wshadow
  $<$<BOOL:${RILLE_WERROR}>:-Werror>
  -fno-math-errno -fno-trapping-math -fstack-protector-strong)
target_include_directories(rille_options INTERFACE ${CMAKE_SOURCE_DIR}/runtime)
target_compile_definitions(rille_options INTERFACE FMT_HEADER_ONLY=1
  $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(RILLE_SANITIZE)
  target_compile_options(rille_options INTERFACE -fsanitize=${RILLE_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rille_options INTERFACE -fsanitize=${RILLE_SANITIZE})
endif()
# The resolvers that target_clones emits run before TSan is up and crash; libgomp's joins are not
# instrumented and look like races. So the thread sanitizer sees plain loops and a serial pool.
if(RILLE_SANITIZE MATCHES "thread")
  target_compile_definitions(rille_options INTERFACE RILLE_NO_CLONES=1 RILLE_SERIAL=1)
elseif(NOT RILLE_CLONES)
  target_compile_definitions(rille_options INTERFACE RILLE_NO_CLONES=1)
endif()
if(RILLE_LTO)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# rille_library(<name>): one static library from every .cpp of the current folder.
function(rille_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    add_library(${name} INTERFACE)
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC rille_options)
endfunction()
