# Flags that every target shares, in one interface target: rille_options.
find_program(RILLE_CCACHE ccache)
if(RILLE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${RILLE_CCACHE})
  # What ccache asks for where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${RILLE_CCACHE})
endif()

# Programs are linked as position independent ones, too: the address layout stays random.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

add_library(rille_options INTERFACE)
# Ops are called with named arguments, call<Sum>({.x = t}): what is left out has its default.
target_compile_options(rille_options INTERFACE -Wall -Wextra -Wconversion -Wshadow
  -Wno-missing-field-initializers
  # g++ 12 sees these where there are none (its PR 105651 and its kin).
  -Wno-restrict -Wno-maybe-uninitialized -Wno-free-nonheap-object
  $<$<BOOL:${RILLE_WERROR}>:-Werror>
  -fno-math-errno -fno-trapping-math)
# g++ clears and copies structs with `rep stos`, which takes thirty cycles to get going: a small op
# met four of them. A few vector stores do the same.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(RILLE_STRUCTS -mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign
    -mmemcpy-strategy=vector_loop:256:noalign,libcall:-1:noalign)
  target_compile_options(rille_options INTERFACE ${RILLE_STRUCTS})
  target_link_options(rille_options INTERFACE ${RILLE_STRUCTS}) # code is made there, too (LTO)
endif()
target_include_directories(rille_options INTERFACE ${CMAKE_SOURCE_DIR}/runtime)
if(RILLE_ASSERTIONS OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(rille_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

if(RILLE_SANITIZE)
  target_compile_options(rille_options INTERFACE -fsanitize=${RILLE_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rille_options INTERFACE -fsanitize=${RILLE_SANITIZE})
elseif(RILLE_HARDENING)
  target_compile_options(rille_options INTERFACE
    -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(rille_options INTERFACE -fcf-protection)
  endif()
  # For the rooms that read foreign bytes; in loops it costs more than it guards (ADR 0010).
  set(RILLE_ZERO_INIT -ftrivial-auto-var-init=zero)
  target_link_options(rille_options INTERFACE -Wl,-z,relro,-z,now)
endif()

# Hot loops are vectorised at -O3 whatever the preset. Not under a sanitizer: it checks what code
# does, and plain loops build in half the time (for the same reason ASan gets no RILLE_CLONES).
set(RILLE_LOOP_OPTIONS -fopenmp-simd)
if(NOT RILLE_SANITIZE)
  list(APPEND RILLE_LOOP_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O3>)
endif()

# The resolvers that target_clones emits run before TSan is up and crash; libgomp's joins are not
# instrumented and look like races. So the thread sanitizer sees plain loops and a serial pool.
if(RILLE_SANITIZE MATCHES "thread")
  target_link_options(rille_options INTERFACE -Wl,-u,__longjmp_chk) # interpreter/lua/longjmp.cpp
  target_compile_definitions(rille_options INTERFACE RILLE_NO_CLONES=1 RILLE_SERIAL=1)
elseif(NOT RILLE_CLONES)
  target_compile_definitions(rille_options INTERFACE RILLE_NO_CLONES=1)
endif()
if(RILLE_LTO)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()
if(RILLE_COVERAGE)
  target_compile_options(rille_options INTERFACE --coverage -fprofile-abs-path)
  target_link_options(rille_options INTERFACE --coverage)
endif()

# rille_precompile(<target> [header...]): its files get cmake/precompiled.h, and those headers.
function(rille_precompile target)
  if(RILLE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h ${ARGN})
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
  endif()
endfunction()

# For rooms that join many strings: where headers are precompiled, g++ 12 sees overflows in that.
set(RILLE_NO_STRING_WARNINGS -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)

# rille_library(<name>): one static library from every .cpp of the current folder.
function(rille_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    add_library(${name} INTERFACE)
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC rille_options)
  rille_precompile(${name})
endfunction()
