# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build tree> -DSOURCE=<this folder> -DWORK=<empty folder> -DLIBDIR=lib -DCXX=<compiler>
#       -DFLAGS=<-fsanitize=...> -P run.cmake
# Installs the client component and builds the consumer against it, once with find_package and once
# with pkg-config.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}" --component client)

run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/cmake" -G Ninja
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
  "-DCMAKE_BUILD_RPATH=${prefix}/${LIBDIR}")
run(${CMAKE_COMMAND} --build "${WORK}/cmake")
run("${WORK}/cmake/service")
run("${WORK}/cmake/worker")

set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
foreach(program IN ITEMS service worker)
  set(package rota-client)
  if(program STREQUAL "worker")
    set(package rota-worker)
  endif()
  execute_process(COMMAND pkg-config --cflags --libs ${package}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(extra UNIX_COMMAND "${FLAGS}")
  run(${CXX} ${extra} -Wall -Wextra -Werror "${SOURCE}/${program}.cc" -o "${WORK}/${program}"
    ${flags} -pthread "-Wl,-rpath,${prefix}/${LIBDIR}")
  run("${WORK}/${program}")
endforeach()
