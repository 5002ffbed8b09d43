# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=<folder with package.json> -DWORK=<folder> -P node_packages.cmake
# Installs the packages of the Node example into the build tree, once.
file(MAKE_DIRECTORY "${WORK}")
file(SHA256 "${SOURCE}/package.json" wanted)
set(stamp "${WORK}/installed")
set(present "")
if(EXISTS "${stamp}")
  file(READ "${stamp}" present)
endif()
if(present STREQUAL wanted)
  return()
endif()
configure_file("${SOURCE}/package.json" "${WORK}/package.json" COPYONLY)
execute_process(COMMAND npm install --no-audit --no-fund --ignore-scripts --no-package-lock
  WORKING_DIRECTORY "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${stamp}" "${wanted}")
