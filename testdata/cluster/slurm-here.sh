#!/usr/bin/env bash
# A Slurm cluster of two nodes on this machine, for trying out the batch scripts
# beside this file. It needs Debian's slurm-wlm and munge, no systemd, no
# configuration of the machine, and nothing but its own directory:
#
#   slurm-here.sh start DIR PORT    # PORT, PORT+1 and PORT+2 must be free
#   export SLURM_CONF=DIR/slurm.conf
#   sbatch ...
#   slurm-here.sh stop DIR
#
# The daemons run as whoever starts them. The nodes have
# one CPU each.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

start() {
  local dir=$1 port=$2 user host
  user=$(id -un) host=$(hostname -s)
  mkdir -p "$dir/state" "$dir/n1" "$dir/n2"
  chmod 755 "$dir"
  (umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
  cat >"$dir/slurm.conf" <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
AuthType=auth/munge
CredType=cred/munge
# A job that is run again waits until the credentials of its first run have
# expired; five seconds are the least.
AuthInfo=socket=$dir/munge.socket,cred_expire=5
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
KillWait=2
ReturnToService=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$dir/slurm.conf
  munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
  slurmctld
  slurmd -N n1
  slurmd -N n2
  for _ in $(seq 200); do
    if [ "$(sinfo --noheader --states=idle --format=%D 2>/dev/null)" = 2 ]; then return; fi
    sleep 0.1
  done
  echo "the nodes do not come up:" >&2
  tail -n 20 "$dir"/*.log >&2
  stop "$dir"
  exit 1
}

# stop ends the daemons by the process ids that they wrote, and waits for them.
stop() {
  local dir=$1 name pid
  for name in n1 n2 slurmctld munged; do
    pid=$(cat "$dir/$name.pid" 2>/dev/null) || continue
    kill "$pid" 2>/dev/null || continue
    for _ in $(seq 100); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  done
}

case ${1-} in
  start) start "$(realpath -m "${2?directory}")" "${3?port}" ;;
  stop) stop "$(realpath -m "${2?directory}")" ;;
  *) echo "usage: $0 start DIR PORT | stop DIR" >&2; exit 2 ;;
esac
