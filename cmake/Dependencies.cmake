# SPDX-License-Identifier: Apache-2.0
# Every library the project uses, by the packages of tools/packages.txt (Debian 12).
#
# Link the rota::dep:: targets for gRPC, protobuf and RocksDB, not the imported ones: they resolve
# to Debian's shared libraries, and to the static archives in a binary that was given to
# rota_link_static(). Static linking of these three saves the server 5 to 25 % of its CPU per job.
# OpenSSL, zlib, c-ares, re2 and Abseil stay shared in every binary.

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
# Debian 12 ships no CMake package of protobuf, and gRPC's needs its targets: module mode, first.
find_package(Protobuf 3.21 REQUIRED)
find_package(gRPC 1.51 CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(RocksDB 7.8 CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(spdlog 1.10 CONFIG REQUIRED)
find_package(fmt 9 CONFIG REQUIRED)
find_package(CLI11 2.1 CONFIG REQUIRED)
find_package(tomlplusplus 3.3 CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
if(BUILD_TESTING)
  find_package(GTest 1.12 CONFIG REQUIRED)
endif()

# rota_static_archives(OUT names...) -> full paths of lib<name>.a, an error when one is missing.
function(rota_static_archives out)
  set(paths)
  foreach(name IN LISTS ARGN)
    find_library(ROTA_ARCHIVE_${name} "lib${name}.a" REQUIRED)
    list(APPEND paths "${ROTA_ARCHIVE_${name}}")
  endforeach()
  set(${out} "${paths}" PARENT_SCOPE)
endfunction()

rota_static_archives(ROTA_PROTOBUF_ARCHIVES protobuf)
rota_static_archives(ROTA_GRPC_ARCHIVES grpc++ grpc gpr address_sorting upb)
rota_static_archives(ROTA_REFLECTION_ARCHIVES grpc++_reflection)

# What the archives themselves need: gRPC's own target with its first libraries left out.
get_target_property(ROTA_GRPC_NEEDS gRPC::grpc INTERFACE_LINK_LIBRARIES)
get_target_property(ROTA_GPR_NEEDS gRPC::gpr INTERFACE_LINK_LIBRARIES)
set(ROTA_GRPC_STATIC_NEEDS ${ROTA_GRPC_NEEDS} ${ROTA_GPR_NEEDS})
list(FILTER ROTA_GRPC_STATIC_NEEDS EXCLUDE REGEX "^gRPC::")

# rota_dependency(NAME shared-items STATIC static-items): the choice is made by the binary that is
# linked in the end (its property ROTA_STATIC), not by the libraries in between.
function(rota_dependency name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SHARED;STATIC")
  set(is_static "$<BOOL:$<TARGET_PROPERTY:ROTA_STATIC>>")
  add_library(rota_dep_${name} INTERFACE)
  add_library(rota::dep::${name} ALIAS rota_dep_${name})
  foreach(item IN LISTS arg_SHARED)
    target_link_libraries(rota_dep_${name} INTERFACE "$<$<NOT:${is_static}>:${item}>")
  endforeach()
  foreach(item IN LISTS arg_STATIC)
    target_link_libraries(rota_dep_${name} INTERFACE "$<${is_static}:${item}>")
  endforeach()
endfunction()

rota_dependency(protobuf SHARED protobuf::libprotobuf
  STATIC ${ROTA_PROTOBUF_ARCHIVES} ZLIB::ZLIB Threads::Threads)
rota_dependency(grpc SHARED gRPC::grpc++
  STATIC ${ROTA_GRPC_ARCHIVES} ${ROTA_PROTOBUF_ARCHIVES} ${ROTA_GRPC_STATIC_NEEDS})
rota_dependency(grpc_reflection SHARED gRPC::grpc++_reflection
  STATIC ${ROTA_REFLECTION_ARCHIVES} ${ROTA_GRPC_ARCHIVES} ${ROTA_PROTOBUF_ARCHIVES}
    ${ROTA_GRPC_STATIC_NEEDS})
rota_dependency(rocksdb SHARED RocksDB::rocksdb-shared STATIC RocksDB::rocksdb)

# rota_link_static(TARGET): gRPC, protobuf and RocksDB as archives in this executable, except under
# a sanitizer. Never for a binary that also loads the shared client library: it would hold two gRPCs.
option(ROTA_STATIC_SERVER "Link gRPC, protobuf and RocksDB statically into rota-server" ON)
function(rota_link_static target)
  if(ROTA_STATIC_SERVER AND NOT ROTA_SANITIZE)
    set_target_properties(${target} PROPERTIES ROTA_STATIC ON)
  endif()
endfunction()
