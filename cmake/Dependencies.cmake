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

# rota_static_archive(NAME needs...): the target rota::static::NAME for lib<NAME>.a. With its needs
# CMake can put everything into an order that any linker takes.
function(rota_static_archive name)
  find_library(ROTA_ARCHIVE_${name} "lib${name}.a" REQUIRED)
  mark_as_advanced(ROTA_ARCHIVE_${name})
  add_library(rota::static::${name} STATIC IMPORTED GLOBAL)
  set_target_properties(rota::static::${name} PROPERTIES
    IMPORTED_LOCATION "${ROTA_ARCHIVE_${name}}"
    INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

# What Debian's own shared target needs besides other parts of gRPC.
function(rota_foreign_needs out target)
  get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
  list(FILTER needs EXCLUDE REGEX "^(gRPC|protobuf)::")
  set(${out} "${needs}" PARENT_SCOPE)
endfunction()

rota_foreign_needs(gpr_needs gRPC::gpr)
rota_foreign_needs(grpc_needs gRPC::grpc)
rota_static_archive(protobuf ZLIB::ZLIB Threads::Threads)
rota_static_archive(address_sorting)
rota_static_archive(upb)
rota_static_archive(gpr ${gpr_needs})
rota_static_archive(grpc rota::static::address_sorting rota::static::upb rota::static::gpr
  ${grpc_needs})
rota_static_archive(grpc++ rota::static::grpc rota::static::gpr rota::static::protobuf
  absl::synchronization absl::strings absl::status)
rota_static_archive(grpc++_reflection rota::static::grpc++ rota::static::protobuf)

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

rota_dependency(protobuf SHARED protobuf::libprotobuf STATIC rota::static::protobuf)
rota_dependency(grpc SHARED gRPC::grpc++ STATIC rota::static::grpc++)
rota_dependency(grpc_reflection
  SHARED gRPC::grpc++_reflection STATIC rota::static::grpc++_reflection)
rota_dependency(rocksdb SHARED RocksDB::rocksdb-shared STATIC RocksDB::rocksdb)

# rota_link_static(TARGET): gRPC, protobuf and RocksDB as archives in this executable, except under
# a sanitizer. Never for a binary that also loads the shared client library: it would hold two gRPCs.
option(ROTA_STATIC_SERVER "Link gRPC, protobuf and RocksDB statically into rota-server" ON)
function(rota_link_static target)
  if(ROTA_STATIC_SERVER AND NOT ROTA_SANITIZE)
    set_target_properties(${target} PROPERTIES ROTA_STATIC ON)
  endif()
endfunction()

# rota_link_jemalloc(TARGET): its malloc in this executable, except under a sanitizer. Requests are
# made on one thread and freed on another all the time, which costs glibc's malloc most.
option(ROTA_JEMALLOC "Link jemalloc into rota-server" ON)
if(ROTA_JEMALLOC AND NOT ROTA_SANITIZE)
  find_library(ROTA_JEMALLOC_ARCHIVE libjemalloc_pic.a REQUIRED)
  mark_as_advanced(ROTA_JEMALLOC_ARCHIVE)
endif()
function(rota_link_jemalloc target)
  if(ROTA_JEMALLOC AND NOT ROTA_SANITIZE)
    target_link_libraries(${target} PRIVATE "${ROTA_JEMALLOC_ARCHIVE}")
    target_compile_definitions(${target} PRIVATE ROTA_JEMALLOC)
  endif()
endfunction()
