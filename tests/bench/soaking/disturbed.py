# SPDX-License-Identifier: Apache-2.0
"""One task of the soak, played: launched, disturbed, gone on with, and looked at when it is over."""

import json
import os
import pathlib
import re
import signal
import time

from soaking import rank as stream
from soaking.bed import STATE, eventually, read

END_SECONDS = 120  # after the last fault is over
FINAL = ("succeeded", "failed", "killed", "interrupted", "lost")


class Disturbed:
    """`wrong` is what must not be, a line each; `notes` what was done."""

    def __init__(self, bed, scenario, folder):
        self.bed, self.scenario = bed, scenario
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.shared = bed.shared / f"ranks-{scenario.seed}"
        self.shared.mkdir()
        self.wrong, self.notes = [], []
        self.id, self.task, self.status = "", {}, None
        self.viewers = []
        self.ending = []      # (instant, what ends a fault)
        self.off = set()
        self.adoptions = 0
        self.unattended_since = None
        self.began = time.monotonic()

    def note(self, said):
        self.notes.append(f"{time.monotonic() - self.began:6.1f} {said}")

    # --- Playing ---

    def play(self):
        words = self.scenario.arguments(f"/srv/shared/ranks-{self.scenario.seed}")
        self.launcher = self.bed.start(STATE, words, self.folder / "out", self.folder / "err")
        started, over_at = None, None
        faults = list(self.scenario.faults)
        look = 0
        while True:
            now = time.monotonic()
            if started is None and any(self.shared.glob("*.0.count")):
                started = now
            for fault in list(faults):
                since = self.began if fault.early else started
                if since is not None and now >= since + fault.at:
                    faults.remove(fault)
                    self.begin(fault)
            for instant, end in list(self.ending):
                if now >= instant:
                    self.ending.remove((instant, end))
                    end()
            self.find_id()
            if now >= look:
                if self.is_over():
                    break
                look = time.monotonic() + 0.5
            if self.ending or (faults and started is None and now < self.began + 30):
                over_at = None
            elif over_at is None:
                over_at = now + END_SECONDS + self.scenario.window + self.scenario.script["seconds"]
            elif now > over_at:
                self.wrong.append(f"it has not ended: {self.task.get('state')}")
                break
            time.sleep(0.02)
        for _, end in self.ending:
            end()

    def find_id(self):
        if self.id:
            return
        found = re.search(rb"train: task ([a-z2-7]{8})", read(self.folder / "err")) or re.match(
            rb"([a-z2-7]{8})$", read(self.folder / "out"))
        if found:
            self.id = found[1].decode()

    def show(self):
        status, out, err = self.bed.train(STATE, ["task", "show", self.id, "--json"])
        if status != 0:
            self.wrong.append(f"task show: {status}: {err.decode(errors='replace')[:300]}")
            return {}
        return json.loads(out)

    def is_over(self):
        """Goes on with it where nobody attends it."""
        if self.launcher.poll() is None and not self.scenario.detached:
            return False
        if not self.id:
            # Nothing was recorded, or it is not known under which name.
            return self.launcher.poll() is not None
        if self.scenario.detached and self.launcher.poll() is None:
            return False
        self.task = self.show()
        state = self.task.get("state", "?")
        if state in FINAL:
            return True
        if state == "unattended" or self.task.get("unattended"):
            now = time.monotonic()
            if self.unattended_since is None:
                self.unattended_since = now
                self.note("unattended")
            running = [viewer for viewer in self.viewers if viewer[1].poll() is None
                       and viewer[0] == "adopter"]
            if not self.scenario.abandon and not running and (
                    now >= self.unattended_since + self.scenario.adopt_after):
                for _ in range(self.scenario.adopters):
                    self.attach("adopter")
                self.adoptions += 1
                if self.adoptions > 30:
                    self.wrong.append("attached to it 30 times, and it is not over")
                    return True
        else:
            self.unattended_since = None
        return False

    def attach(self, what):
        name = self.folder / f"{what}-{len(self.viewers)}"
        words = ["task", "logs", "-f", self.id] if what == "logs" else ["task", "attach", self.id]
        if what == "view" and self.scenario.chance.random() < 0.5:
            words.append("--from-start")
        self.viewers.append((what, self.bed.start(STATE, words, f"{name}.out", f"{name}.err"), name))
        self.note(f"{what} {len(self.viewers) - 1}")

    # --- Faults ---

    def begin(self, fault):
        if fault.host in self.off:
            return
        self.note(str(fault))
        end = getattr(self, "begin_" + fault.kind.replace(" ", "_"))(fault)
        if end:
            self.ending.append((time.monotonic() + fault.length, end))

    def begin_launcher(self, _):
        for process in self.bed.supervisors(f"/tasks/{self.id}/launcher.lock") if self.id else []:
            self.note(f"SIGKILL to the launcher {process.pid}")
            process.kill()

    def begin_stop(self, _):
        if self.scenario.chance.random() < 0.5 or not self.id:
            for process in self.bed.supervisors("/launcher.lock"):
                if f"ranks-{self.scenario.seed}" in process.words:
                    process.kill(signal.SIGINT)
        else:
            name = self.folder / "kill"
            self.viewers.append(("kill", self.bed.start(STATE, ["task", "kill", self.id],
                                                        f"{name}.out", f"{name}.err"), name))

    def begin_stand_still(self, fault):
        stopped = self.bed.supervisors(f"/tasks/{self.id}/launcher.lock") if self.id else []
        fault.length = min(fault.length, 4)
        for process in stopped:
            process.kill(signal.SIGSTOP)

        # nsenter stops with its child, and does not go on with it.
        def go_on():
            for process in stopped + [p for p in self.bed.processes("head") if p.state == "T"]:
                process.kill(signal.SIGCONT)
        return go_on

    def begin_view(self, _):
        if self.id:
            self.attach("view")

    def begin_logs(self, _):
        if self.id:
            self.attach("logs")

    def begin_cut(self, fault):
        if (self.bed.folder / "cut" / fault.host).exists():
            return None
        self.bed.run("cut", fault.host, *fault.kind.split()[1:])
        return lambda: fault.host in self.off or self.bed.run("heal", fault.host)

    begin_cut_in = begin_cut_out = begin_cut

    def begin_freeze(self, fault):
        self.bed.run("freeze", fault.host)
        return lambda: fault.host in self.off or self.bed.run("thaw", fault.host)

    def begin_power(self, fault):
        self.bed.run("crash" if fault.kind == "crash" else "kill", fault.host)
        self.off.add(fault.host)

        def boot():
            self.off.remove(fault.host)
            self.bed.run("boot", fault.host)
            self.bed.limit_disks(fault.host)
        return boot

    begin_crash = begin_power

    def begin_sshd(self, fault):
        for process in self.bed.processes(fault.host):
            if process.words.startswith("sshd: root") or "sshd-session: root" in process.words:
                process.kill()

    def kill_role(self, fault):
        for process in self.bed.agents(fault.host, self.id)[fault.kind] if self.id else []:
            self.note(f"SIGKILL to the {fault.kind} {process.pid} on {fault.host}")
            process.kill()

    begin_agent = begin_guard = begin_subreaper = begin_bridge = kill_role

    def begin_full_head(self, _):
        self.bed.fill("head", STATE)
        return lambda: self.bed.empty("head", STATE)

    def begin_full_host(self, fault):
        self.bed.fill(fault.host, "/tmp")
        return lambda: self.bed.empty(fault.host, "/tmp")

    # --- Looking at what came of it ---

    def check(self):
        for line in read(self.shared / "violations").decode().splitlines():
            self.wrong.append(line)
        self.check_words()
        if self.id:
            self.check_end()
            for rank in range(self.scenario.ranks):
                self.check_log(rank)
        self.check_processes()
        self.check_files()

    def check_words(self):
        """No talk of a bug, whoever says it."""
        for name in sorted(self.folder.glob("*err")) + [self.launcher_log()]:
            for line in read(name).splitlines():
                if re.search(rb"bug in train|terminate called|[Aa]ssert|Segmentation|Sanitizer", line):
                    self.wrong.append(f"{name.name}: {line.decode(errors='replace')[:300]}")

    def launcher_log(self):
        root = self.bed.root_of("head")
        return pathlib.Path(f"{root}{STATE}/train/tasks/{self.id or 'none'}/launcher.log")

    def check_end(self):
        state = self.task.get("state")
        status, _, err = self.bed.train(STATE, ["task", "wait", self.id])
        self.status = status
        if state == "lost":
            has_run = any(self.shared.glob("*.count"))
            if not self.scenario.has("launcher") or (has_run and not self.scenario.abandon):
                self.wrong.append("it is lost")
            eventually(self.scenario.window + 15, lambda: not self.left_on_hosts())
            return
        if status not in self.scenario.codes():
            self.wrong.append(f"exit code {status}, not {sorted(self.scenario.codes())}: "
                              f"{err.decode(errors='replace').splitlines()[-1:]}")
        own = self.launcher.poll()
        if not self.scenario.detached and not self.scenario.has("launcher") and own != status:
            self.wrong.append(f"the launcher exits with {own}, task wait with {status}")
        attempts = len(self.task.get("attempts", []))
        if attempts > self.scenario.restarts + 1:
            self.wrong.append(f"{attempts} attempts")
        for what, viewer, _ in self.viewers:
            limit = eventually(15, lambda: viewer.poll() is not None)
            if not limit:
                self.wrong.append(f"{what} goes on after the end")
                for process in self.bed.processes("head"):
                    if re.search(rf"task (attach|logs|kill).*{self.id}", process.words):
                        process.kill()
            elif what in ("view", "adopter") and viewer.returncode not in (
                    [status, 75] + [137] * self.scenario.has("launcher")
                    + [66] * self.scenario.has("full head")):
                self.wrong.append(f"a {what} exits with {viewer.returncode}, task wait with {status}")

    def check_log(self, rank):
        for attempt in range(self.scenario.restarts + 1):
            count = read(self.shared / f"{rank}.{attempt}.count")
            if len(count) != stream.COUNT.size:
                continue
            most, least, done = stream.COUNT.unpack(count)
            status, log, err = self.bed.train(STATE, ["task", "logs", self.id, "--rank", str(rank),
                                                      "--attempt", str(attempt)])
            if status != 0:
                self.wrong.append(f"task logs of {rank}.{attempt}: {status} {err[:200]}")
                continue
            whole = b"".join(stream.stream(rank, attempt, self.scenario.script))
            self.compare(f"log of {rank}.{attempt}", log, whole, err,
                         least if self.is_complete(rank) else 0, most)

    def is_complete(self, rank):
        """Whether nothing of its output may be missing."""
        host = self.scenario.hosts[rank // self.scenario.ranks_each]
        lost = self.task.get("state") == "lost" or self.scenario.has("stop", "full head")
        away = self.scenario.has("launcher") and not self.scenario.continues
        return not (lost or away or host in self.scenario.hard_hosts())

    def compare(self, what, log, whole, said, least, most):
        if said and not log == whole[:len(log)]:
            gap = re.search(rb"(\d+) bytes", said)
            if gap and self.may_drop():
                return
        if log != whole[:len(log)]:
            at = next((i for i, (a, b) in enumerate(zip(log, whole)) if a != b), len(whole))
            self.wrong.append(f"{what} differs at byte {at} of {len(log)}: {log[at:at + 60]!r} "
                              f"for {whole[at:at + 60]!r} {said[:200]!r}")
        elif not least <= len(log) <= most:
            self.wrong.append(f"{what} has {len(log)} bytes, not {least} to {most} {said[:200]!r}")

    def may_drop(self):
        drops = self.scenario.overflow == "drop" or (
            self.scenario.overflow is None and self.scenario.detached)
        return drops or self.scenario.has("full host", "full head")

    def left_on_hosts(self):
        mine = (self.id or "no task") + "|" + f"ranks-{self.scenario.seed}|sleep 4711"
        left = []
        for host in self.bed.nodes + ["head"]:
            left += [f"{host}: {p.pid} {p.words[:120]}" for p in self.bed.processes(host)
                     if re.search(mine, p.words) and (host != "head" or "cluster" not in p.words)]
        return left

    def check_processes(self):
        if not eventually(20, lambda: not self.left_on_hosts()):
            self.wrong += [f"left: {process}" for process in self.left_on_hosts()[:8]]
            for host in self.bed.nodes + ["head"]:
                for process in self.bed.processes(host):
                    if re.search(f"{self.id or 'no task'}|ranks-{self.scenario.seed}|sleep 4711",
                                 process.words):
                        process.kill()

    def check_files(self):
        if not self.id or self.task.get("state") == "lost":
            return
        for host in self.bed.nodes:
            root = self.bed.root_of(host)
            mine = [str(path) for folder in ("tmp/train-0", "root/.cache/train", "var/tmp")
                    for path in pathlib.Path(f"{root}/{folder}").glob(f"**/*{self.id}*")]
            mine = [path for path in mine if "/.cache/train/runs/" not in path]
            self.wrong += [f"left on {host}: {path}" for path in mine]
            odd = [path.name for path in pathlib.Path(f"{root}/root/.cache/train").glob("*")
                   if not re.fullmatch(r"train-[0-9a-f]{40,64}|contexts|runs", path.name)]
            self.wrong += [f"left on {host}: ~/.cache/train/{name}" for name in odd]
        root = self.bed.root_of("head")
        folder = pathlib.Path(f"{root}{STATE}/train/tasks/{self.id}")
        for name in ("bundle", "control", "end.json"):
            if (folder / name).exists():
                self.wrong.append(f"left in the record: {name}")

    def forget(self):
        """Logs take room in the small state folder."""
        root = self.bed.root_of("head")
        for path in pathlib.Path(f"{root}{STATE}/train/tasks").glob("*/logs/*"):
            path.unlink(missing_ok=True)
        for path in self.shared.iterdir():
            path.unlink()
        os.rmdir(self.shared)
