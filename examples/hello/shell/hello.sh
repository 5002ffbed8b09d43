#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A first job from a shell: make a queue, put a job in it, let a worker run a command for it.
# Needs a rota-server (ROTA_ADDRESS), and rota and rota-worker on the PATH.
set -eu
rota queue set hello >&2
rota-worker exec --queue hello -- sh -c 'echo "hello $(cat)"' &
trap 'kill $! && wait $!' EXIT
job=$(rota job enqueue hello greet --payload world -o name)
rota job wait "$job" -o json
