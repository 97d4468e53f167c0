# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Tests with Slurm: source this in place of lib.sh, with the path of train as the first argument. Four
# nodes of four GPUs, without sshd; set `options` and call use_slurm "${options[@]}".
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for program in slurmctld slurmd munged srun; do
    if ! command -v $program >/dev/null; then
        echo "SKIPPED: there is no $program (slurmctld, slurmd, slurm-client, munge)"
        echo "0 passed, 0 failed, 1 skipped"
        exit 77
    fi
done
slurm=$(dirname "$0")/slurm
gpus='NVIDIA A100-SXM4-80GB:4'
use_cluster 4 --slots 1 --gpus "$gpus"
use_train "${1:-}"
trap '"$slurm" down; leave_cluster' EXIT
cp "$(dirname "$0")/../cli/tensorflow_worker.py" "$(dirname "$0")/../support/waiting.py" "$shared/"

library=$(dirname "$1")/../tests/fake_nvml/libnvidia-ml.so.1

# use_slurm OPTION...: Slurm with these options, the driver's library on each node, by which a launcher
# there knows the GPUs, and no sshd.
use_slurm() {
    local host
    install_nvml "$library" "$gpus" "${nodes[@]}"
    # shellcheck disable=SC2016 # the host expands it
    for host in "${nodes[@]}"; do on "$host" '! pid=$(cat /run/sshd.pid 2>/dev/null) || { kill "$pid"; rm -f /run/sshd.pid; }'; done
    "$slurm" up "$@" || exit 1
}

# submit OPTION... -- COMMAND...: a batch job whose script becomes the command; sets `job`. -N2 and -N3 are
# the first nodes: others are free while these are cleaned of a job.
submit() {
    local options=()
    while [ "$1" != -- ]; do
        case $1 in -N[23]) options+=(--nodelist "node[01-0${1#-N}]") ;; *) options+=("$1") ;; esac
        shift
    done
    shift
    printf '#!/bin/bash\nmodule=loaded; export module\ncd /tmp\nexec %s\n' "${*@Q}" >"$shared/job.sh"
    rm -f "$shared"/{out,err}
    job=$(on head "sbatch --parsable -o /srv/shared/out -e /srv/shared/err ${options[*]@Q} /srv/shared/job.sh") ||
        { note_failure "sbatch: $job"; return 1; }
}

# end_of_job SECONDS: waits for it; what it printed is then in $work.
end_of_job() {
    eventually "$1" job_has_ended || { note_failure "job $job does not end"; on head "scancel $job"; }
    cp "$shared/out" "$work/out"
    cp "$shared/err" "$work/err"
}
job_state() { on head "scontrol show job $job -o" 2>&1 | sed -n 's/.* JobState=\([A-Z_]*\) .*/\1/p' | sort -u | xargs; }
# A cancelled job has its last state while its processes still end.
job_has_ended() { [ -z "$(on head "squeue -h -j $job" 2>&1)" ]; }
job_out_has() { grep -Eqs -- "$1" "$shared/out"; }

expect_job_state() { expect_equal "state of job $job" "$1" "$(job_state)"; }

# The daemons belong to a host at rest.
strangers() {
    "$cluster" processes "$1" | grep -Ev 'settings/hostinit|/usr/sbin/sshd -f .*\[listener\]|[0-9] (munged|slurmctld|slurmd|: slurmscriptd)( |$)'
}

# A job that a case has left is over before the next one; a host that was booted again gets its daemons.
reset_hosts() {
    local host state has_booted=no
    on head 'scancel --quiet --user=root'
    eventually 30 are_idle "${nodes[@]}"
    while read -r host _ _ state; do
        [ "$state" = on ] && are_idle "$host" && continue
        restart "$host"
        has_booted=yes
    done < <("$cluster" list)
    [ $has_booted = no ] || use_slurm "${options[@]}"
}

# What Slurm itself runs on a node is no part of a launch.
steps() { "$cluster" processes "$1" 'agent (attach|reattach)|sleep 4711|train-[0-9a-f]{40}'; }
are_free() { local host; for host in head "${nodes[@]}"; do [ -z "$(steps "$host")" ] || return 1; done; }
expect_free() {
    eventually "$1" are_free && return
    note_failure "processes are left after $1 s:"
    local host
    for host in head "${nodes[@]}"; do steps "$host" | sed "s/^/      $host: /"; done
}
