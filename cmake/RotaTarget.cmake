# SPDX-License-Identifier: Apache-2.0
# How targets of the project are made.
#
#   rota_add_library(NAME rota_core LAYER core SOURCES a.cc b.cc PUBLIC rota_model PRIVATE absl::time)
#     A static library; SHARED or OBJECT as an argument makes another type. LAYER decides the
#     include roots and which rota_ libraries may be linked. A target rota_core_headers compiles
#     each header of the folder on its own; `check-headers` builds them all.
#
#   rota_add_executable(NAME rota-server LAYER app SOURCES main.cc LIBS rota_app)
#
#   rota_add_test(NAME engine_test TIER fast SOURCES engine_test.cc LIBS rota_core)
#     A GoogleTest binary; every case is one ctest with the tier as its label. DEFINES and ENV (as
#     NAME=VALUE) are optional, and so is SERIAL for cases that must not run beside others (slow
#     tests never do). CALLS_GRPC: its cases make calls, which the thread sanitizer cannot judge:
#     Debian's gRPC and Abseil are not instrumented, so it sees none of the order that they make
#     and reports what they hand from thread to thread. The preset tsan builds such a program and
#     has no tests of it.
#     Tiers: fast (pure, milliseconds), medium (disk, threads, gRPC), slow (real processes, load).
#
#   rota_add_command_test(NAME layers TIER fast COMMAND cmd args...)
#     Any other program as a test; it passes with exit code 0.

include(GoogleTest)

set(ROTA_LAYERS base model core store runtime proto rpc app client worker tools examples)
set(ROTA_MAY_LINK_base "")
set(ROTA_MAY_LINK_model base)
set(ROTA_MAY_LINK_core base model)
set(ROTA_MAY_LINK_store base model core)
set(ROTA_MAY_LINK_runtime base model core store)
set(ROTA_MAY_LINK_proto "")
set(ROTA_MAY_LINK_rpc base model core store runtime proto)
set(ROTA_MAY_LINK_app base model core store runtime proto rpc)
set(ROTA_MAY_LINK_client base proto)
set(ROTA_MAY_LINK_worker base client)
set(ROTA_MAY_LINK_tools base client worker proto)
set(ROTA_MAY_LINK_examples client worker)

if(NOT TARGET check-headers)
  add_custom_target(check-headers)
endif()

# Fails when a library of layer `layer` links a rota_ library that its layer may not use.
function(rota_check_links target layer)
  foreach(lib IN LISTS ARGN)
    if(TARGET ${lib})
      get_target_property(lib_layer ${lib} ROTA_LAYER)
      if(lib_layer AND NOT lib_layer STREQUAL layer AND NOT lib_layer IN_LIST ROTA_MAY_LINK_${layer})
        message(FATAL_ERROR
          "${target} (layer ${layer}) may not link ${lib} (layer ${lib_layer}); allowed: "
          "${ROTA_MAY_LINK_${layer}}")
      endif()
    endif()
  endforeach()
endfunction()

# Include roots: "base/x.h" for the server's layers, <rota/x.h> and "internal/x.h" for client and
# worker.
function(rota_include_roots target layer)
  if(layer STREQUAL "client" OR layer STREQUAL "worker")
    target_include_directories(${target}
      PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${layer}/include>"
             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
      PRIVATE "${PROJECT_SOURCE_DIR}/${layer}")
  elseif(layer STREQUAL "tools")
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/tools")
  elseif(NOT layer STREQUAL "proto" AND NOT layer STREQUAL "examples")
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/server")
  endif()
endfunction()

# Compiles each header on its own, so that none relies on what its users include: the headers named
# among the sources, else all of the folder.
function(rota_check_headers target)
  set(headers ${ARGN})
  list(FILTER headers INCLUDE REGEX "\\.h$")
  list(FILTER headers EXCLUDE REGEX "^/")  # generated
  list(TRANSFORM headers PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  if(NOT headers)
    file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  endif()
  if(NOT headers)
    return()
  endif()
  set(units)
  foreach(header IN LISTS headers)
    get_filename_component(stem "${header}" NAME_WE)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/header_check/${target}_${stem}.cc")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND units "${unit}")
  endforeach()
  add_library(${target}_headers OBJECT EXCLUDE_FROM_ALL ${units})
  target_link_libraries(${target}_headers PRIVATE ${target})
  target_include_directories(${target}_headers PRIVATE
    "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  add_dependencies(check-headers ${target}_headers)
endfunction()

function(rota_add_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SHARED;OBJECT" "NAME;LAYER" "SOURCES;PUBLIC;PRIVATE")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_LAYER IN_LIST ROTA_LAYERS)
    message(FATAL_ERROR "rota_add_library(${arg_NAME}): bad layer or arguments: "
      "${arg_LAYER} ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(type STATIC)
  if(arg_SHARED)
    set(type SHARED)
  elseif(arg_OBJECT)
    set(type OBJECT)
  endif()
  add_library(${arg_NAME} ${type} ${arg_SOURCES})
  set_target_properties(${arg_NAME} PROPERTIES ROTA_LAYER ${arg_LAYER})
  rota_check_links(${arg_NAME} ${arg_LAYER} ${arg_PUBLIC} ${arg_PRIVATE})
  rota_include_roots(${arg_NAME} ${arg_LAYER})
  target_link_libraries(${arg_NAME} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  rota_check_headers(${arg_NAME} ${arg_SOURCES})
endfunction()

function(rota_add_executable)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LAYER;OUTPUT" "SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_LAYER IN_LIST ROTA_LAYERS)
    message(FATAL_ERROR "rota_add_executable(${arg_NAME}): bad layer or arguments: "
      "${arg_LAYER} ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  set_target_properties(${arg_NAME} PROPERTIES ROTA_LAYER ${arg_LAYER})
  if(arg_OUTPUT)
    set_target_properties(${arg_NAME} PROPERTIES OUTPUT_NAME ${arg_OUTPUT})
  endif()
  rota_check_links(${arg_NAME} ${arg_LAYER} ${arg_LIBS})
  rota_include_roots(${arg_NAME} ${arg_LAYER})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS})
endfunction()

set(ROTA_TIERS fast medium slow)
set(ROTA_TIMEOUT_fast 60)
set(ROTA_TIMEOUT_medium 300)
set(ROTA_TIMEOUT_slow 1500)
if(ROTA_SANITIZE)
  foreach(tier IN LISTS ROTA_TIERS)
    math(EXPR ROTA_TIMEOUT_${tier} "5 * ${ROTA_TIMEOUT_${tier}}")
  endforeach()
endif()
# `tests-medium` builds what the tests of that tier need, and so on.
foreach(tier IN LISTS ROTA_TIERS)
  if(NOT TARGET tests-${tier})
    add_custom_target(tests-${tier})
  endif()
endforeach()
# ctest starts the costliest first, so this runs the tiers one after the other.
set(ROTA_COST_fast 300000)
set(ROTA_COST_medium 200000)
set(ROTA_COST_slow 100000)

function(rota_check_tier name tier)
  if(NOT tier IN_LIST ROTA_TIERS)
    message(FATAL_ERROR "test ${name}: TIER must be one of ${ROTA_TIERS}, not '${tier}'")
  endif()
endfunction()

function(rota_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL;CALLS_GRPC" "NAME;TIER"
    "SOURCES;LIBS;DEFINES;ENV")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rota_add_test(${arg_NAME}): bad arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  rota_check_tier(${arg_NAME} "${arg_TIER}")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main)
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${arg_NAME} PRIVATE ${arg_DEFINES})
  set_target_properties(${arg_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    set_property(GLOBAL APPEND PROPERTY ROTA_TEST_SOURCES "${path}")
  endforeach()
  if(arg_CALLS_GRPC AND ROTA_SANITIZE STREQUAL "thread")
    return()
  endif()
  add_dependencies(tests-${arg_TIER} ${arg_NAME})
  set(properties LABELS ${arg_TIER} TIMEOUT ${ROTA_TIMEOUT_${arg_TIER}}
    COST ${ROTA_COST_${arg_TIER}})
  if(arg_SERIAL OR arg_TIER STREQUAL "slow")
    list(APPEND properties RUN_SERIAL ON)
  endif()
  if(arg_ENV)
    list(APPEND properties ENVIRONMENT "${arg_ENV}")
  endif()
  gtest_discover_tests(${arg_NAME} TEST_PREFIX "${arg_NAME}/" DISCOVERY_TIMEOUT 120
    PROPERTIES ${properties})
endfunction()

function(rota_add_command_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL" "NAME;TIER" "COMMAND;ENV")
  rota_check_tier(${arg_NAME} "${arg_TIER}")
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  list(GET arg_COMMAND 0 program)
  if(TARGET ${program})
    add_dependencies(tests-${arg_TIER} ${program})
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS ${arg_TIER}
    TIMEOUT ${ROTA_TIMEOUT_${arg_TIER}} COST ${ROTA_COST_${arg_TIER}})
  if(arg_SERIAL OR arg_TIER STREQUAL "slow")
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
  if(arg_ENV)
    set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT "${arg_ENV}")
  endif()
endfunction()

# Every *_test.cc below the current folder must belong to a test, else it would silently never run.
function(rota_require_registered_tests severity)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc")
  get_property(registered GLOBAL PROPERTY ROTA_TEST_SOURCES)
  set(missing)
  foreach(path IN LISTS found)
    if(NOT path IN_LIST registered)
      list(APPEND missing "${path}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing "\n  " text)
    message(${severity} "test files that no rota_add_test() names:\n  ${text}")
  endif()
endfunction()
