#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What accounts and disks of hosts are like: login shells, rc files, banners, homes and temporary
# folders that cannot be used.   surroundings_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1 --sshd 'Banner /srv/shared/banner' --sshd 'PrintMotd yes'
use_train "${1:-}"
printf 'All that you do is \033[31mwatched\033[0m.\n\033]0;title\007' >"$shared/banner"

both=(-H 'node[01-02]:1' -n 2)

# expect_both: a rank ran on each host, and nothing else was printed.
expect_both() {
    expect_status 0
    expect_equal "stdout" $'[0] node01\n[1] node02' "$(sort "$work/out")"
}

# with_shell PROGRAM: root's login shell on node02, for good.
with_shell() { on node02 "sed -i 's|^\(root:.*:\)[^:]*\$|\1$1|' /etc/passwd"; }

# cached HOST: the folders there that hold the program.
cached() {
    on "$1" 'find /root/.cache/train /var/tmp/train-0 /tmp/train-0 /dev/shm/train-0 \
        -name "train-*" -type f -exec dirname {} \; 2>/dev/null | sort'
}

# small_home: node02's home on 64 KiB of their own, where the program has no room.
# shellcheck disable=SC2016 # expanded on the host
small_home='cp -a /root/.ssh /tmp/ssh && mount -t tmpfs -o size=64k,mode=700 home /root && mv /tmp/ssh /root/.ssh'
read_only_home='mount --bind /root /root && mount -o remount,bind,ro /root'
noexec() { echo "mkdir -p $1 && mount --bind $1 $1 && mount -o remount,bind,noexec $1;"; }

# --- Accounts ---

login_shell() {
    with_shell "$1"
    launch "${both[@]}" -- hostname
    expect_both
    restart node02
}

busybox_for_all() {
    on node02 'ln -s /bin/busybox /usr/local/bin/sh && sed -i "s|^\(root:.*:\)[^:]*$|\1/usr/local/bin/sh|" /etc/passwd'
    launch "${both[@]}" -- hostname
    expect_both
    restart node02
}

banner_and_motd() {
    on node02 'echo "message of the day" >/etc/motd'
    launch "${both[@]}" -- hostname
    expect_both
    grep -q $'\033' "$work/err" && note_failure "an escape sequence of the banner is on stderr"
    restart node02
}

# As root of the host has it for all logins; the agent is there already, or comes with this launch.
small_stack() {
    [ "$1" = new ] || launch "${both[@]}" -- hostname
    on node02 'echo "ulimit -s 64" >.bashrc'
    launch "${both[@]}" -- touch /tmp/started
    expect_status 76
    expect_err "host 'node02': .*the stack is limited to 64 KiB .ulimit -s., too little for train"
    expect_last_err "host 'node02'"
    expect_nothing_started
    restart node02
}

slow_rc_file() {
    on node02 'echo "sleep 3; echo slow" >.bashrc'
    launch "${both[@]}" -- hostname
    expect_both
    restart node02
}

much_in_the_rc_file() {
    on node02 'echo "yes noise | head -c 30000; yes trouble | head -c 3000000 >&2" >.bashrc'
    launch "${both[@]}" -- hostname
    expect_both
    restart node02
}

endless_rc_file() {
    on node02 'echo "yes noise" >.bashrc'
    launch "${both[@]}" -- hostname
    expect_status 76
    expect_err "host 'node02': the host printed more than 64 KiB"
    expect_idle 5 "${nodes[@]}"
    restart node02
}

rc_file_ends_it() {
    on node02 'echo "echo maintenance until noon >&2; exit 3" >.bashrc'
    launch "${both[@]}" -- hostname
    expect_status 76
    expect_err 'node02'
    expect_err 'maintenance until noon'
    restart node02
}

account_without_a_shell() {
    with_shell /usr/sbin/nologin
    launch "${both[@]}" -- hostname
    expect_status 76
    expect_err 'node02'
    expect_err 'account is currently not available'
    restart node02
}

# --- Places for the program ---

# place_is WHERE LINE...: after LINE on node02, the program runs there, in WHERE.
place_is() {
    local where=$1
    shift
    on node02 "$*" || note_failure "the host could not be prepared"
    launch "${both[@]}" -- hostname
    expect_both
    expect_equal "where the program is" "$where" "$(cached node02)"
    expect_equal "mode of that folder" 700 "$(on node02 "stat -c %a $where")"
    restart node02
}

# Anybody may make such a link in a folder like /tmp; what it leads to is not ours to write.
link_in_the_way() {
    on node02 'mkdir -p .cache /srv/bait && ln -s /srv/bait .cache/train && ln -s /srv/bait /var/tmp/train-0'
    launch "${both[@]}" -- hostname
    expect_both
    expect_equal "where the program is" /tmp/train-0 "$(cached node02)"
    expect_equal "files behind the link" "" "$(on node02 'ls -A /srv/bait')"
    restart node02
}

folder_of_somebody_else() {
    on node02 'mkdir -p .cache/train && chown nobody .cache/train'
    launch "${both[@]}" -- hostname
    expect_both
    expect_equal "where the program is" /var/tmp/train-0 "$(cached node02)"
    restart node02
}

# Anybody may be first with a name in /tmp; the folder of a user is known by whose it is.
name_taken_in_tmp() {
    on node02 "$1 && chown -h nobody /tmp/train-0" || note_failure "the host could not be prepared"
    local round first=
    for round in 1 2; do
        launch "${both[@]}" -- hostname
        expect_both
        first=${first:-$(on node02 'echo /tmp/train-0-*')}
        expect_equal "the folder, after launch $round" "$first" "$(on node02 'echo /tmp/train-0-*')"
    done
    [[ $first =~ ^/tmp/train-0-[a-z2-7]{6}$ ]] || note_failure "the folder is '$first'"
    expect_equal "mode of that folder" 700 "$(on node02 "stat -c %a $first")"
    expect_equal "what the agents left there" "" "$(on node02 "ls -A $first")"
    restart node02
}

# A place that takes nothing at all is told with its reason, together with the others.
no_place_for_agents() {
    on node02 'mount -t tmpfs -o ro none /tmp && mount -t tmpfs -o ro none /var/tmp'
    launch "${both[@]}" -- hostname
    expect_status 76
    expect_err "no place for the files of the agent: '/tmp': read-only file system; '/var/tmp': read-only"
    restart node02
}

nowhere() {
    on node02 "$(noexec /root) $(noexec /var/tmp) $(noexec /tmp) $(noexec /dev/shm)"
    launch "${both[@]}" -- hostname
    expect_status 76
    local place
    for place in /root/.cache/train /var/tmp/train-0 /tmp/train-0 /dev/shm/train-0; do
        expect_err "$place: it allows no programs \\(noexec\\)"
    done
    expect_err node02
   restart node02
}

# shellcheck disable=SC2016 # expanded by the script that is written
another_machine() {
    on node02 'printf "#!/bin/sh\n[ \"\$1\" = -m ] && echo aarch64 || exec /usr/bin/uname \"\$@\"\n" >/usr/local/bin/uname
        chmod 755 /usr/local/bin/uname'
    launch "${both[@]}" -- hostname
    expect_status 76
    expect_err 'node02.*aarch64'
    expect_equal "programs sent there" "" "$(cached node02)"
    restart node02
}

# runs_anyway LINE: after LINE on node02 no program could run there that needed this machine's C
# library; the agent needs none.
runs_anyway() {
    on node02 "$1" || note_failure "the host could not be prepared"
    launch "${both[@]}" -- hostname
    expect_status 0
    expect_out '^\[1\] node02$'
    expect_idle 5 node01
    restart node02
}

# Of the C library, libm is what no shell and no tool here needs: one that lacks the name of a
# version is as an older one is.
# shellcheck disable=SC2016 # expanded on the host
older_c_library='LC_ALL=C sed "s/GLIBC_2\.29/GLIBC_0.00/g" /lib/x86_64-linux-gnu/libm.so.6 >/srv/libm &&
    mount --bind /srv/libm "$(readlink -f /lib/x86_64-linux-gnu/libm.so.6)"'

# A loader elsewhere serves busybox, which is all that is there, and sshd, once it runs, needs none.
# shellcheck disable=SC2016 # expanded on the host
other_c_library='mkdir /srv/m && cp /lib64/ld-linux-x86-64.so.2 /srv/m/ &&
    LC_ALL=C sed "s|/lib64/ld-linux-x86-64|/srv/m/ld-linux-x86-64|" /bin/busybox >/srv/m/busybox &&
    chmod 755 /srv/m/busybox && mount --bind /srv/m/busybox /usr/bin/dash || exit 1
    for tool in $(/bin/busybox --list); do ln -sf /srv/m/busybox /usr/local/bin/$tool; done
    sed -i "s|^\(root:.*:\)[^:]*\$|\1/bin/sh|" /etc/passwd
    kill "$(cat /run/sshd.pid)" && while [ -e /run/sshd.pid ]; do sleep 0.05; done
    /usr/sbin/sshd -r -f /etc/ssh/sshd_testbed -E /run/sshd.log && until [ -s /run/sshd.pid ]; do sleep 0.05; done
    mount -t tmpfs none /usr/lib64'

for shell in /bin/bash /bin/dash /bin/csh /bin/tcsh /usr/bin/fish /bin/zsh; do
    test_case "a login shell that is $shell starts the agent" login_shell $shell
done
test_case "busybox as login shell and sh starts the agent" busybox_for_all
test_case "a banner and a message of the day do no harm" banner_and_motd
test_case "a host whose logins have too small a stack is named" small_stack new
test_case "so it is where the agent is there already" small_stack known
test_case "a slow rc file is waited for" slow_rc_file
test_case "what an rc file prints at length does no harm" much_in_the_rc_file
test_case "an rc file that prints for ever is cut off" endless_rc_file
test_case "an rc file that ends the session is told in its words" rc_file_ends_it
test_case "an account without a shell is told" account_without_a_shell
test_case "a full home is passed over" place_is /var/tmp/train-0 "$small_home"
test_case "a read-only home is passed over" place_is /var/tmp/train-0 "$read_only_home"
test_case "a noexec home is passed over" place_is /var/tmp/train-0 "$(noexec /root)"
test_case "memory is the last place" place_is /dev/shm/train-0 \
    "$(noexec /root) $(noexec /var/tmp) $(noexec /tmp)"
test_case "symbolic links in the way are not followed" link_in_the_way
test_case "a folder of somebody else is not used" folder_of_somebody_else
test_case "a folder of somebody else with our name in /tmp locks nobody out" name_taken_in_tmp 'mkdir /tmp/train-0'
test_case "a link of somebody else with our name in /tmp locks nobody out" name_taken_in_tmp \
    'mkdir /srv/bait && ln -s /srv/bait /tmp/train-0'
test_case "a host without a place for the agent's files says what is wrong with each" no_place_for_agents
test_case "a host without any place says what is wrong with each" nowhere
test_case "a host with an older C library runs the agent" runs_anyway "$older_c_library"
test_case "a host without this machine's C library runs the agent" runs_anyway "$other_c_library"
test_case "a host of another machine type is refused before anything is sent" another_machine
finish
