# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Waiting in shell tests: for what happens, with patience by the pace of this machine. A limit is what an
# idle machine needs at most; it is multiplied by how many times slower this one is, and that is looked
# at again where a limit is over.

waiting_step=${waiting_step:-0.02} # seconds between two looks
pace=10 # of this machine in tenths of an idle one's time: 10 to 100

# What `measure_pace` takes on an idle machine of two cores.
idle_pace_us=50000

# A few forks and a short computation: long enough that others get their turn meanwhile.
measure_pace() {
    local began=${EPOCHREALTIME/[.,]/} round tenths
    for ((round = 0; round < 10; round++)); do (:); done
    for ((round = 0; round < 25000; round++)); do :; done
    tenths=$(((${EPOCHREALTIME/[.,]/} - began) * 10 / idle_pace_us))
    [ $tenths -le 100 ] || tenths=100
    [ $tenths -lt "$pace" ] || pace=$tenths
}
measure_pace

# is_over SECONDS SINCE: whether so long has passed since that instant (EPOCHREALTIME in microseconds),
# by the pace of this machine, which is looked at before the answer is yes.
is_over() {
    local waited=$((${EPOCHREALTIME/[.,]/} - $2))
    [ $waited -ge $(($1 * pace * 100000)) ] || return 1
    measure_pace
    [ $waited -ge $(($1 * pace * 100000)) ]
}

# paced SECONDS: the whole seconds that this machine takes for what an idle one does in so many: for
# settings of the program under test within which something has to happen first.
paced() {
    measure_pace
    echo $((($1 * pace + 9) / 10))
}

# eventually SECONDS COMMAND...: looks until the command succeeds; fails when time is up.
eventually() {
    local seconds=$1 since=${EPOCHREALTIME/[.,]/}
    shift
    until "$@"; do
        ! is_over "$seconds" "$since" || return 1
        sleep "$waiting_step"
    done
}

# stays SECONDS COMMAND...: fails at the first look at which the command does.
stays() {
    local until=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    shift
    while "$@"; do
        [ "${EPOCHREALTIME/[.,]/}" -lt $until ] || return 0
        sleep 0.05
    done
    return 1
}

# settled COMMAND...: prints what the command prints, once three looks in a row saw the same; after ten
# seconds what it printed last. For counts of what comes and goes: a process is there twice while it
# executes another program.
settled() {
    local same=0 since=${EPOCHREALTIME/[.,]/} last seen
    last=$("$@")
    while [ $same -lt 2 ] && ! is_over 10 "$since"; do
        sleep 0.05
        seen=$("$@")
        if [ "$seen" = "$last" ]; then same=$((same + 1)); else same=0; fi
        last=$seen
    done
    echo "$last"
}
