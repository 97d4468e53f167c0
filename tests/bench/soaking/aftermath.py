# SPDX-License-Identifier: Apache-2.0
"""Whether what came of a disturbed task may have come of what was done to it."""

import pathlib
import re

from soaking import rank as stream
from soaking.bed import STATE, eventually, read


class Aftermath:
    """Of a task that is over; adds to its `wrong`."""

    def __init__(self, disturbed):
        self.of = disturbed
        self.bed, self.scenario = disturbed.bed, disturbed.scenario
        self.id, self.task, self.wrong = disturbed.id, disturbed.task, disturbed.wrong

    def check(self):
        for line in read(self.of.shared / "violations").decode().splitlines():
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
        for name in sorted(self.of.folder.glob("*err")) + [self.of.launcher_log()]:
            for line in read(name).splitlines():
                if re.search(rb"bug in train|terminate called|[Aa]ssert|Segmentation|Sanitizer", line):
                    self.wrong.append(f"{name.name}: {line.decode(errors='replace')[:300]}")

    def check_end(self):
        state = self.task.get("state")
        status, _, err = self.bed.train(STATE, ["task", "wait", self.id])
        self.of.status = status
        if state == "lost":
            has_run = any(self.of.shared.glob("*.count"))
            if not self.scenario.has("launcher") or (has_run and not self.scenario.abandon):
                self.wrong.append("it is lost")
            eventually(self.scenario.window + 15, lambda: not self.of.left_on_hosts())
            return
        if status not in self.scenario.codes():
            self.wrong.append(f"exit code {status}, not {sorted(self.scenario.codes())}: "
                              f"{err.decode(errors='replace').splitlines()[-1:]}")
        own = self.of.launcher.poll()
        if not self.scenario.detached and not self.scenario.has("launcher") and own != status:
            self.wrong.append(f"the launcher exits with {own}, task wait with {status}")
        attempts = len(self.task.get("attempts", []))
        if attempts > self.scenario.restarts + 1:
            self.wrong.append(f"{attempts} attempts")
        for what, viewer, _ in self.of.viewers:
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
            count = read(self.of.shared / f"{rank}.{attempt}.count")
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

    def check_processes(self):
        if not eventually(20, lambda: not self.of.left_on_hosts()):
            self.wrong += [f"left: {process}" for process in self.of.left_on_hosts()[:8]]
            for host in self.bed.nodes + ["head"]:
                for process in self.bed.processes(host):
                    if re.search(f"{self.id or 'no task'}|ranks-{self.scenario.seed}|sleep 471101",
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
