# SPDX-License-Identifier: Apache-2.0
# Completion of `rota` for bash: source it, or install it as completions/rota of bash-completion.
# Every word is checked against the program's own table by a test.

_rota_global="--color --help --namespace --output --server --timeout --wait-for-server"

_rota_options() {
  case "$1 $2" in
    "job enqueue")
      echo "--attempt-timeout --backoff-cap --backoff-delays --backoff-factor --backoff-first \
        --backoff-fixed --backoff-jitter --business-key --business-key-scope --content-type \
        --delay --give-up-after --in-flight --label --max-attempts --on-dead \
        --payload --priority --request-id --run-at --start-deadline"
      ;;
    "job get")
      echo "--payload"
      ;;
    "job list")
      echo "--business-key --kind --limit --page-token --queue --scheduler --state"
      ;;
    "job wait")
      echo "--at-most"
      ;;
    "job update")
      echo "--priority --run-at --start-deadline"
      ;;
    "job cancel")
      echo "--reason --yes"
      ;;
    "job redrive")
      echo "--request-id"
      ;;
    "job delete")
      echo "--yes"
      ;;
    "queue list")
      echo "--limit --page-token --prefix"
      ;;
    "queue set")
      echo "--attempt-timeout --backoff-cap --backoff-delays --backoff-factor --backoff-first \
        --backoff-fixed --backoff-jitter --cancelled-age --concurrency --dead-age --etag \
        --give-up-after --ledger-age --max-attempts --max-waiting --succeeded-age \
        --succeeded-count"
      ;;
    "queue pause")
      echo "--note"
      ;;
    "queue purge")
      echo "--no-wait --request-id --yes"
      ;;
    "queue delete")
      echo "--yes"
      ;;
    "scheduler upsert")
      echo "--attempt-timeout --backoff-cap --backoff-delays --backoff-factor --backoff-first \
        --backoff-fixed --backoff-jitter --business-day-offset --business-key \
        --business-key-scope --catch-up --catch-up-max-runs --catch-up-window \
        --content-type --cron \
        --end --etag --every --give-up-after --kind --label --max-attempts --overlap \
        --owner --payload --phase --priority --queue --revision --start \
        --start-deadline-after --time-zone"
      ;;
    "scheduler list")
      echo "--limit --page-token --prefix"
      ;;
    "scheduler runs")
      echo "--business-date --from --limit --outcome --page-token --to"
      ;;
    "scheduler preview")
      echo "--after --business-day-offset --count --cron --end --every --phase --start \
        --time-zone"
      ;;
    "scheduler pause")
      echo "--note"
      ;;
    "scheduler delete")
      echo "--yes"
      ;;
    "worker list")
      echo "--limit --page-token --queue"
      ;;
  esac
}

_rota_verbs() {
  case "$1" in
    job) echo "enqueue get list wait update cancel redrive delete explain" ;;
    queue) echo "list get set pause resume purge delete" ;;
    scheduler) echo "upsert get list runs preview pause resume delete" ;;
    worker) echo "list" ;;
    server) echo "info health" ;;
  esac
}

_rota() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}"
  local noun="" verb="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      --server | --namespace | --output | -o | --timeout | --wait-for-server | --color) ((i++)) ;;
      -*) ;;
      *)
        if [[ -z $noun ]]; then
          noun="${COMP_WORDS[i]}"
        elif [[ -z $verb ]]; then
          verb="${COMP_WORDS[i]}"
        fi
        ;;
    esac
  done
  local words=""
  case "$before" in
    -o | --output) words="table json jsonl name" ;;
    --color) words="auto always never" ;;
    --overlap) words="skip wait-one allow" ;;
    --catch-up) words="latest all none" ;;
    --on-dead) words="return redrive" ;;
    --outcome) words="fired skipped missed" ;;
    --state) words="ready scheduled blocked running succeeded dead cancelled expired" ;;
    *)
      if [[ $word == -* ]]; then
        words="$_rota_global"
        if [[ -n $verb ]]; then
          words+=" $(_rota_options "$noun" "$verb")"
        elif [[ -z $noun ]]; then
          words+=" --version"
        fi
      elif [[ -z $noun ]]; then
        words="job queue scheduler worker server help"
      elif [[ -z $verb ]]; then
        words="$(_rota_verbs "$noun")"
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _rota rota
