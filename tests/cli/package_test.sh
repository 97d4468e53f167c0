#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package, made from the build folder of the program.   package_test.sh path/to/train
#
# It is installed on a system that has nothing but Debian's essential packages and what the package's
# Depends name: copies of the packages of this machine, with a database of dpkg that knows these alone.
# So a library, a program or a file that the package does not ask for is not there. What these packages
# are in another release of Debian is not tested.
# shellcheck disable=SC2016 # commands for other shells, and formats, are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"
build=$(cd "$(dirname "$train")/.." && pwd)

# Whether a package can be made; the case is skipped where not.
can_pack() {
    local tool
    [ -e "$build/CPackConfig.cmake" ] || { skip "$build is no build folder"; return 1; }
    if ldd "$train" | grep -Eq 'lib[at]san'; then skip "a program with sanitizers is not packed"; return 1; fi
    for tool in cpack dpkg-shlibdeps file; do
        command -v "$tool" >/dev/null || { skip "there is no $tool"; return 1; }
    done
}

# pack FILE: makes that package.
pack() {
    (cd / && cpack --config "$build/CPackConfig.cmake" -B "$work/packed") >cpack.log 2>&1 ||
        note_failure "cpack failed:" "$(tail -n 20 cpack.log)"
    mv "$work"/packed/*.deb "$1" && rm -r "$work/packed"
}

# take_package: package.deb in the current folder, which all cases share.
take_package() {
    can_pack || return
    [ -e "$all_work/package.deb" ] || pack "$all_work/package.deb"
    cp "$all_work/package.deb" package.deb
}

# essential_packages PACKAGE...: Debian's essential packages, these, and all that they depend on.
essential_packages() {
    dpkg-query -W -f '${Package}\t${db:Status-Status}\t${Essential}\t${Provides}\t${Pre-Depends},${Depends}\n' |
        /usr/bin/python3 -c '
import re, sys
depends, providers, wanted = {}, {}, sys.argv[1:]
for line in sys.stdin:
    name, status, essential, provided, needed = line.rstrip("\n").split("\t")
    if status != "installed": continue
    names = lambda text: [re.match(r"\s*([^\s:(]*)", each)[1] for each in text.split(",")]
    depends[name] = [names(each.replace("|", ",")) for each in needed.split(",")]
    for each in names(provided): providers.setdefault(each, name)
    if essential == "yes": wanted.append(name)
found = []
while wanted:
    name = wanted.pop()
    if name in found or name not in depends: continue
    found.append(name)
    for choices in depends[name]:
        wanted += [each if each in depends else providers[each] for each in choices
                   if each in depends or each in providers][:1]
print("\n".join(sorted(found)))' "$@"
}

# make_system: $system has a clean Debian, made of files of this one.
make_system() {
    local name packages=() depends=()
    system=$work/system
    mkdir -p "$system"/{proc,dev,tmp,root,etc,usr/{bin,lib,lib64,sbin}} "$system"/var/lib/dpkg/{info,updates,triggers}
    for name in bin lib lib64 sbin; do [ ! -L "/$name" ] || cp -P "/$name" "$system"; done
    mapfile -t depends < <(depends_of package.deb)
    mapfile -t packages < <(essential_packages "${depends[@]}")
    dpkg -L "${packages[@]}" | grep '^/' | sort -u | sed 's|^/||; s|^\.$||; /^$/d' |
        tar -C / -c --no-recursion --ignore-failed-read -T - 2>/dev/null | tar -C "$system" -xp
    dpkg-query -s "${packages[@]}" >"$system/var/lib/dpkg/status"
    for name in "${packages[@]}"; do
        find /var/lib/dpkg/info \( -name "$name.list" -o -name "$name:*.list" \) -exec cp -t "$system/var/lib/dpkg/info" {} +
    done
    echo 'root:x:0:0:root:/root:/bin/sh' >"$system/etc/passwd"
    inside test ! -e /usr/bin/train || note_failure "the system is not clean"
    [ "${#packages[@]}" -lt 90 ] || note_failure "the system has ${#packages[@]} packages: this is no clean one"
}

# inside COMMAND...: in that system, with processes of its own that end with the command.
inside() {
    "$env" -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        unshare --mount --propagation private --pid --fork --kill-child sh -c '
            mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$system" "$@"
}

# inside_expect WHAT COMMAND...: it succeeds.
inside_expect() {
    local what=$1
    shift
    inside "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" = 0 ] || note_failure "$what ended with $status"
}

depends_of() { dpkg-deb -f "$1" Depends | tr ',' '\n' | sed 's/^ *//; s/[ (|].*//'; }

runs_on_a_clean_system() {
    [ "$(id -u)" = 0 ] || { skip "only root installs packages"; return; }
    take_package || return
    make_system
    cp package.deb "$system/tmp"
    inside_expect "dpkg" dpkg -i /tmp/package.deb
    inside_expect "train --version" train --version
    expect_equal "its version" "$("$train" --version)" "$(cat "$work/out")"
    inside_expect "train launch" train launch -H localhost:2 -n 2 -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'
    expect_equal "ranks" "[0] rank 0 of 2
[1] rank 1 of 2" "$(sort "$work/out")"
    inside_expect "train launch" train launch -H localhost:2 -n 2 -- true
    inside_expect "dpkg -V" dpkg -V train
    expect_equal "files that dpkg finds changed" "" "$(cat "$work/out")"
    inside_expect "dpkg -r" dpkg -r train
    expect_equal "what is left of it in /usr" "" "$(find "$system/usr" -path '*train*' -name '*train*' -print -quit)"
}

refuses_a_system_without_its_libraries() {
    [ "$(id -u)" = 0 ] || { skip "only root installs packages"; return; }
    take_package || return
    make_system
    cp package.deb "$system/tmp"
    sed -i '/^Package: libc6$/,/^$/s/^Version: .*/Version: 2.19-18/' "$system/var/lib/dpkg/status"
    inside dpkg -i /tmp/package.deb >"$work/out" 2>"$work/err" && note_failure "it was installed beside an old libc6"
    expect_err 'train depends on libc6 \(>= '
}

depends_are_complete() {
    local library path package count=0
    take_package || return
    dpkg-deb -x package.deb unpacked
    for library in $(objdump -p unpacked/usr/bin/train | awk '$1 == "NEEDED" { print $2 }'); do
        count=$((count + 1))
        path=$(ldd unpacked/usr/bin/train | awk -v name="$library" '$1 ~ "(^|/)" name "$" { print $2 == "=>" ? $3 : $1 }')
        path=$(realpath "$path")
        package=$({ dpkg -S "$path" || dpkg -S "${path#/usr}"; } 2>/dev/null | cut -d : -f 1)
        depends_of package.deb | grep -qx "$package" || note_failure "$library is of $package, which Depends does not name"
    done
    [ "$count" -ge 2 ] || note_failure "only $count libraries were found"
    expect_equal "Architecture" "$(dpkg --print-architecture)" "$(dpkg-deb -f package.deb Architecture)"
    expect_equal "Version" "$("$train" --version | head -n 1)" "train $(dpkg-deb -f package.deb Version)"
}

files_are_debians() {
    local page
    take_package || return
    dpkg-deb -x package.deb unpacked
    expect_equal "what is outside of /usr" "" "$(dpkg-deb -c package.deb | awk '$6 !~ "^\\./(usr/.*)?$" { print $6 }')"
    expect_equal "owners" root/root "$(dpkg-deb -c package.deb | awk '{ print $2 }' | sort -u)"
    expect_equal "rights" "-rw-r--r-- -rwxr-xr-x drwxr-xr-x" "$(dpkg-deb -c package.deb | awk '{ print $1 }' | sort -u | xargs)"
    for page in "$root"/man/*.[157]; do
        page=${page##*/}
        gunzip -c "unpacked/usr/share/man/man${page##*.}/$page.gz" | cmp -s - "$root/man/$page" || note_failure "$page is not in it"
    done
    cmp -s unpacked/usr/bin/train "$train" || note_failure "its program is another one"
    cmp -s <(gunzip -c unpacked/usr/share/doc/train/changelog.gz) "$root/CHANGELOG.md" || note_failure "it has no changelog"
    cmp -s unpacked/usr/share/doc/train/copyright <("$train" --licenses) || note_failure "its copyright is not what --licenses says"
    for page in README.md LICENSE; do
        cmp -s "unpacked/usr/share/doc/train/$page" "$root/$page" || note_failure "it has no $page"
    done
    ! command -v mman >/dev/null || expect_equal "man -w train" "$PWD/unpacked/usr/share/man/man1/train.1.gz" \
        "$(mman -M "$PWD/unpacked/usr/share/man" -w train 2>/dev/null)"
}

packs_the_same_bytes() {
    take_package || return
    expect_equal "times of files" 1 "$(dpkg-deb -c package.deb | awk '{ print $4, $5 }' | sort -u | wc -l)"
    # Another time, with other rights, hours and language.
    (
        umask 077
        export TZ=Pacific/Auckland LC_ALL=C.UTF-8
        pack again.deb
    )
    expect_same "the second package" package.deb again.deb
}

# What is compiled in two folders is the same: of a few sources, since all of them take a quarter of an hour.
compiles_the_same_bytes() {
    local source flags=()
    [ -e "$build/compile_commands.json" ] || { skip "$build is no build folder"; return; }
    # The options of the program's own sources: without the cache, what is compiled in batches, and files.
    mapfile -t flags < <(/usr/bin/python3 - "$build/compile_commands.json" <<'END'
import json, shlex, sys
words = next(shlex.split(each["command"]) for each in json.load(open(sys.argv[1])) if "train_cli.dir/Unity" in each["command"])
words = words[words.index(next(each for each in words if each.endswith("c++") or "g++" in each)):]
for word in words[:words.index("-o")]:
    if word not in ("-include", "-Winvalid-pch") and not word.endswith("cmake_pch.hxx"): print(word)
END
    )
    mkdir elsewhere
    cp -r "$root"/{cli,config_schema,launcher,backends} elsewhere
    for source in cli/surroundings/time_text config_schema/text/error launcher/frames/frame; do
        "${flags[@]}" -c "$root/$source.cpp" -o here.o || note_failure "$source.cpp does not compile"
        "${flags[@]//"$root"/$PWD/elsewhere}" -c "$PWD/elsewhere/$source.cpp" -o there.o || note_failure "$source.cpp does not compile there"
        strip --strip-unneeded here.o there.o # as the program is: names of sources are symbols
        expect_same "$source.o" here.o there.o
    done
    # The linker takes objects in the order of the names of batches.
    ! grep -oE "unity_in_[A-Za-z0-9_]*_$(basename "$build")_[A-Za-z0-9_]*" "$build/compile_commands.json" | grep . ||
        note_failure "names of batches say where the build is"
    [[ "${flags[*]}" == *"$root"* ]] || note_failure "the folder is not in the options"
}

test_case "the package is installed on a clean system, launches ranks there, and is removed" runs_on_a_clean_system
test_case "dpkg refuses the package where a library is too old" refuses_a_system_without_its_libraries
test_case "its Depends have all libraries of the program" depends_are_complete
test_case "its files are where Debian has them, and whole" files_are_debians
test_case "it is packed to the same bytes again" packs_the_same_bytes
test_case "sources are compiled to the same bytes in another folder" compiles_the_same_bytes
finish
