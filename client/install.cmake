# SPDX-License-Identifier: Apache-2.0
# What a service needs: headers, the shared libraries, a CMake package and pkg-config files.
include(CMakePackageConfigHelpers)

set(rota_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rota")
install(DIRECTORY include/rota DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT client)
install(TARGETS rota_client EXPORT rotaTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT client)
install(EXPORT rotaTargets NAMESPACE rota:: DESTINATION "${rota_package_dir}" COMPONENT client)

configure_package_config_file(cmake/rotaConfig.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/rotaConfig.cmake" INSTALL_DESTINATION "${rota_package_dir}")
# Before 1.0 a minor version may break its users.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/rotaConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/rotaConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/rotaConfigVersion.cmake"
  DESTINATION "${rota_package_dir}" COMPONENT client)

# Relative to where the .pc file lies, so that a tree can be moved.
file(RELATIVE_PATH ROTA_PC_PREFIX
  "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" ROTA_PC_PREFIX "${ROTA_PC_PREFIX}")
foreach(name IN ITEMS client worker)
  configure_file(cmake/rota-${name}.pc.in "${CMAKE_CURRENT_BINARY_DIR}/rota-${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/rota-${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT client)
endforeach()
