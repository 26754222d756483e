#!/usr/bin/env bash
# Runs array.sbatch and train.sbatch on a real Slurm of two nodes on this machine. A node loses
# power during each of collect, train and eval; all must come to the bytes of one process. Runs
# as root, in at most 150 s, and stops all that it started. Argument: the l2mt program. Exit code
# 77 says that Slurm cannot run here.
set -euo pipefail

# A process namespace of its own is killed whole when its first process ends, which is this script.
if [ "$$" != 1 ]; then
  for program in munged slurmctld slurmd sbatch; do
    command -v $program >/dev/null || { echo "there is no $program"; exit 77; }
  done
  unshare --pid --fork --kill-child --mount-proc true || exit 77
  directory=$(mktemp -d)
  trap 'rm -rf "$directory"' EXIT
  timeout --foreground --kill-after=1 150 unshare --pid --fork --kill-child --mount-proc "$0" "$1" "$directory" >"$directory/out" 2>&1 || code=$?
  if [ "${code:-0}" != 0 ]; then tail -n 20 "$directory"/*.log; fi
  cat "$directory/out"
  exit "${code:-0}"
fi

here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
cd "$2"
trap 'echo "$0: line $LINENO"' ERR
port=$((20000 + RANDOM % 10000))
host=$(hostname -s)
export SLURM_CONF=$PWD/slurm.conf
mkdir state
cat >slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthInfo=socket=$PWD/munge,cred_expire=5
SlurmUser=root
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmctldLogFile=$PWD/slurmctld.log
SlurmdPidFile=$PWD/%n.pid
SlurmdLogFile=$PWD/%n.log
SlurmdSpoolDir=$PWD/%n
StateSaveLocation=$PWD/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
ReturnToService=2
NodeName=node1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1
NodeName=node2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1
PartitionName=all Nodes=ALL Default=YES
CONF

declare -A power
start() {
  unshare --pid --fork --kill-child --mount-proc slurmd -D -N "$1" &>/dev/null &
  power[$1]=$!
  disown
}

dd if=/dev/urandom of=key bs=128 count=1 status=none
chmod 400 key
munged --force --socket="$PWD/munge" --key-file="$PWD/key" --pid-file="$PWD/munged.pid" --log-file="$PWD/munged.log" --seed-file="$PWD/seed"
slurmctld
start node1
start node2

# none fails if a file has a line of a kind.
none() { if grep "$@"; then return 1; fi; }

# finished waits for the end of a job, all of whose tasks must have completed, as many of them
# after a second start as the second argument says.
finished() {
  while squeue -h -j "$1" | grep -q .; do sleep 0.1; done
  scontrol -o show job "$1" >job
  none -v JobState=COMPLETED job
  [ "$(grep -c Restarts=1 job)" = "$2" ]
}

# interrupted submits a job, and takes the power from the node that runs a task (0 of an array of
# one) as soon as the task has written to a file. Programs run for ten milliseconds at a time until
# then and stand still while the file is looked at. A task that ended all the same, on a machine
# that was busy with other work, begins anew.
interrupted() {
  file=$1
  task=$2
  shift 2
  node=
  while [ -z "$node" ]; do
    rm -rf "${file%/*}"
    job=$(sbatch --parsable "$@")
    until [ -s "$file" ]; do
      running=$(pgrep -x l2mt) || continue
      kill -CONT $running || true
      sleep 0.01
      kill -STOP $running || true
    done 2>/dev/null # some have ended since
    pkill -STOP -x l2mt || true
    node=$(squeue -h -r -t running -O nodelist:.9,arraytaskid:.9 -j "$job" | awk -v task="$task" '$2 == task {print $1}')
    if [ -z "$node" ]; then
      pkill -CONT -x l2mt || true
      finished "$job" 0
    fi
  done
  kill -9 "${power[$node]}"
  pkill -CONT -x l2mt || true # none is left but those of the other node
  scontrol update nodename="$node" state=down reason="no power"
  start "$node"
  finished "$job" 1
}

export L2MT="l2mt -q"
$L2MT problems sample --train 48 --test 4 --min-tasks 2 --max-tasks 3 --train-fraction 0.03 --validation-fraction 0.03 --out problems >table
collect=(collect --problems problems/train.json --models stl,snr2,mtrl --out)
settings=(--train.epochs=6 --model.hidden=16)
evaluate=(eval --network network --problems problems/test.json --models mtrl --labelled mtrl --out)
sweep=(sweep --problems problems/test.json --vary model.hidden=4,8 --set train.epochs=1 --experience experience --out)

echo "one process"
$L2MT "${collect[@]}" one/experience >table
$L2MT train --experience one/experience --out one/network "${settings[@]}" >table

echo "collect on two nodes, one of which loses power"
interrupted experience/shard-1-of-2.jsonl 1 --array=0-1 "$here/array.sbatch" "${collect[@]}" experience
grep -hE ' [1-9][0-9]* were there before' l2mt-"$job"-1.log
records() { cat "$1"/shard-*.jsonl | sed -E 's/"sum":"[^"]*",|"seconds":[^,]*,//g' | sort; }
cmp <(records one/experience) <(records experience)

echo "train, on a node that loses power"
interrupted network/metrics.jsonl N/A "$here/train.sbatch" experience network "${settings[@]}"
cmp one/network/weights.safetensors network/weights.safetensors

echo "eval on two nodes, one of which loses power"
$L2MT "${evaluate[@]}" one/evaluation >table
interrupted evaluation/outcomes-shard-0-of-2.jsonl 0 --array=0-1 "$here/array.sbatch" "${evaluate[@]}" evaluation
grep -h "resuming after" l2mt-"$job"-0.log
l2mt "${evaluate[@]}" evaluation 2>messages >table
none evaluating messages
cmp one/evaluation/table.json evaluation/table.json

echo "sweep on two nodes"
$L2MT "${sweep[@]}" one/sweep >table
job=$(sbatch --parsable --array=0-1 "$here/array.sbatch" "${sweep[@]}" sweep)
finished "$job" 0
l2mt "${sweep[@]}" sweep 2>messages >table
none -E "evaluating|training" messages
cmp one/sweep/sweep.json sweep/sweep.json
echo "the same bytes in $SECONDS s"
