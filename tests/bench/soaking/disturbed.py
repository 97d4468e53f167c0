# SPDX-License-Identifier: Apache-2.0
"""One task of the soak, played: launched, disturbed, gone on with, and looked at when it is over."""

import json
import os
import pathlib
import re
import signal
import time

from soaking.bed import STATE, read

END_SECONDS = 120  # after the last fault is over
FINAL = ("succeeded", "failed", "killed", "interrupted", "lost")


class Disturbed:
    """`wrong` is what must not be, a line each; `notes` what was done. Aftermath looks at the rest."""

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

    # --- Afterwards ---

    def launcher_log(self):
        root = self.bed.root_of("head")
        return pathlib.Path(f"{root}{STATE}/train/tasks/{self.id or 'none'}/launcher.log")

    def left_on_hosts(self):
        mine = (self.id or "no task") + "|" + f"ranks-{self.scenario.seed}|sleep 471101"
        left = []
        for host in self.bed.nodes + ["head"]:
            left += [f"{host}: {p.pid} {p.words[:120]}" for p in self.bed.processes(host)
                     if re.search(mine, p.words) and (host != "head" or "cluster" not in p.words)]
        return left

    def forget(self):
        """Logs take room in the small state folder."""
        root = self.bed.root_of("head")
        for path in pathlib.Path(f"{root}{STATE}/train/tasks").glob("*/logs/*"):
            path.unlink(missing_ok=True)
        for path in self.shared.iterdir():
            path.unlink()
        os.rmdir(self.shared)
