#!/usr/bin/env bash
# A long run seen from outside: 10,000 tuples on the digits, then 100,000 steps of
# training on them, a tuple each. Writes the resident memory (kB) and the threads
# of the process, once in two seconds, to collect.tsv and train.tsv in DIR:
#
#   testdata/longrun.sh L2MT DIR
set -euo pipefail
l2mt=$1 dir=$2
mkdir -p "$dir"

# watch NAME COMMAND... runs the command and keeps an eye on it.
watch() {
  local name=$1 start=$SECONDS pid
  shift
  "$@" 2>"$dir/$name.log" &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    awk -v s=$((SECONDS - start)) '/^VmRSS|^Threads/ {v[$1] = $2} END {if ("VmRSS:" in v) print s "\t" v["VmRSS:"] "\t" v["Threads:"]}' "/proc/$pid/status" >>"$dir/$name.tsv" 2>/dev/null || true
    sleep 2
  done
  wait "$pid"
}

"$l2mt" problems sample --out "$dir/problems" --train 500 --test 1 --train-fraction 0.03 --quiet
watch collect "$l2mt" collect --problems "$dir/problems/train.json" --out "$dir/experience" --models stl,snr2,mtrl --explore 17
# 417 of the 500 problems are trained on, with 20 tuples each: 12 epochs.
watch train "$l2mt" train --experience "$dir/experience" --out "$dir/network" --set train.update=tuple --set train.epochs=12
