# SPDX-License-Identifier: Apache-2.0
# Compiler, linker and launcher settings of every target of the project.

option(ROTA_WARNINGS_AS_ERRORS "A warning fails the build" ON)
option(ROTA_FUZZ "Make the targets of tests/fuzz fuzzers instead of replays; needs clang" OFF)
option(ROTA_MUTATION "Known mistakes can be planted at start (server/base/mutation.h); never ship it" OFF)
set(ROTA_SANITIZE "" CACHE STRING "Value of -fsanitize: empty, address,undefined or thread")

find_program(ROTA_CCACHE ccache)
if(ROTA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${ROTA_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ROTA_CCACHE}")
endif()

find_program(ROTA_MOLD mold)
if(ROTA_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

# -O1 in the dev preset: the tests run the real server, and at -O0 they would take minutes more. With
# a sanitizer the compiler is what takes the time: at -O1 twice as much as at -O0.
if(ROTA_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
else()
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Designated initializers leave out what has a good default.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers)
if(ROTA_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()

if(ROTA_SANITIZE)
  add_compile_options(-fsanitize=${ROTA_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ROTA_SANITIZE})
else()
  add_compile_options(-fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE
    -D_FORTIFY_SOURCE=2)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    add_compile_options(-fcf-protection)
  endif()
endif()
if(ROTA_FUZZ)
  # Everything of ours counts its edges; the main() comes to the fuzzers alone (tests/fuzz).
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(ROTA_MUTATION)
  add_compile_definitions(ROTA_MUTATION)
  install(CODE "message(FATAL_ERROR \"a build with mistakes in it is not installed\")")
endif()
add_link_options(-Wl,-z,relro,-z,now -Wl,--as-needed)

# Checks of the standard library that keep its binary interface (unlike _GLIBCXX_DEBUG).
add_compile_definitions("$<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>")
