#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waiting.sh finds each way to wait that knows nothing of the pace of the machine, and lets pass what
# tests do instead.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# check FOUND NAME LINE: whether the line, in a file of this name, is found (yes, no).
check() {
    local found=no
    printf '%s\n' "$3" >"$work/$2"
    "$here/waiting.sh" "$work/$2" >"$work/out" || found=yes
    [ $found = "$1" ] && { [ $found = no ] || grep -qF "$work/$2:1: " "$work/out"; } && return
    failed=1
    printf 'found: %s, to be found: %s, in a file %s:\n  %s\n' $found "$1" "${2##*.}" "$3"
}

while IFS= read -r line; do check yes test.cpp "$line"; done <<'END'
  std::this_thread::sleep_for(50ms);
  ::usleep(20'000);  // between two looks
  if (::poll(&wait, 1, 20'000) != 1) return {};
  changed.wait_for(lock, 10s);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const auto limit = loop.after(10s, [this] { loop.stop(); });
  CHECK(boot_time() - stopped < 40s);
  CHECK(desk.loop.now() - before < 200ms);
bool eventually(const std::function<bool()>& condition) {
  agent.start({"sleep 0.3; touch done"});
END
while IFS= read -r line; do check no test.cpp "$line"; done <<'END'
  REQUIRE(eventually([&] { return !is_running(pid); }));
  while (::poll(&called, 1, -1) != 1) continue;
  const bool is_there = ::poll(&called, 1, 0) == 1;
  return changed.wait_for(lock, patience(20s), [&] { return asked == count; });
  CHECK(boot_time() - stopped >= 20s);
  const auto timer = loop.after(5ms, [&] { loop.stop(); });
  agent.start({"until [ -e go ]; do sleep 0.05; done"});
  std::this_thread::sleep_for(50us);  // waits: it holds it a while
END
while IFS= read -r line; do check yes test.sh "$line"; done <<'END'
    sleep 7
        sleep "$pause" # for the launcher
    for i in $(seq 100); do [ -e up ] && break; sleep 0.1; done
    for ((i = 0; i < 100; i++)); do sleep 0.1; done
    run timeout 20 "$train" task wait "$id"
    read -r -t 5 line <"$work/fifo"
    [ $((SECONDS - began)) -lt 30 ] || note_failure "it has taken long"
    [ "$(tenths_since "$began")" -le 30 ] || note_failure "it has taken long"
eventually() {
END
while IFS= read -r line; do check no test.sh "$line"; done <<'END'
    within 20 "it runs" process_count_is 1 '^sleep 4711'
    start launch -n 1 -- /bin/sh -c 'until [ -e go ]; do sleep 0.05; done'
    for pid in $(pgrep -fx 'sleep 4711'); do kill "$pid"; done
    (exec_with_environment timeout 600 "$train" task list --watch) | head -n 1
    [ "$(tenths_since "$began")" -ge 30 ] || note_failure "it has not waited"
    sleep 8 # waits: so long it is away
sleep 4711 &
END
while IFS= read -r line; do check yes test.py "$line"; done <<'END'
    time.sleep(0.1)
    ready, _, _ = select.select([fd], [], [], 10)
    server.settimeout(30)
    process.wait(timeout=5)
END
while IFS= read -r line; do check no test.py "$line"; done <<'END'
    assert eventually(30, has_begun)
    time.sleep(0.1)  # waits: it sends so slowly
END
exit $failed
