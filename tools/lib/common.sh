# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts in tools/. Sets ROOT, the top of the tree, and goes there.
# shellcheck shell=bash

set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export ROOT
cd "$ROOT"

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# require_packages GROUP...: installs what is missing, unless ROTA_NO_INSTALL is 1.
require_packages() {
  if [[ "${ROTA_NO_INSTALL:-0}" == 1 ]]; then
    tools/lib/install-packages --no-install "$@"
  else
    tools/lib/install-packages "$@"
  fi
}

# The number of jobs for builds and tests: the processors, or ROTA_JOBS.
jobs() {
  echo "${ROTA_JOBS:-$(nproc)}"
}

# configure_preset PRESET: makes build/PRESET ready to build.
configure_preset() {
  mkdir -p build
  cmake --preset "$1" >"build/$1.configure.log" 2>&1 ||
    { cat "build/$1.configure.log" >&2; die "configuring preset $1 failed"; }
}

# build_preset PRESET [TARGET...]: configures and builds into build/PRESET.
build_preset() {
  local preset=$1
  shift
  local targets=()
  if (($# > 0)); then
    targets=(--target "$@")
  fi
  configure_preset "$preset"
  cmake --build "build/$preset" --parallel "$(jobs)" "${targets[@]}"
}
