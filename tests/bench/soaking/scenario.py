# SPDX-License-Identifier: Apache-2.0
"""What a task of the soak is, what is done to it, and what may become of it: all from one seed."""

import dataclasses
import json
import random

# Only these are switched off, and the bystander has no ranks there.
MORTAL = 2

# A fault that an agent or its host may not survive, or that may outlast the reconnect window.
HARD = ("power", "crash", "agent", "guard", "subreaper", "freeze", "cut", "cut in", "cut out",
        "full host")
SOFT = ("sshd", "bridge", "view", "logs", "stand still", "short cut", "short cut in",
        "short cut out", "short freeze")


@dataclasses.dataclass
class Fault:
    kind: str
    host: str
    at: float      # seconds after the ranks have started, or, if early, the launch
    length: float  # seconds, of what ends
    early: bool = False

    def __str__(self):
        when = "after the launch" if self.early else "after the start"
        return f"{self.kind} {self.host} {self.at:.1f} s {when}, for {self.length:.1f} s"


class Scenario:
    def __init__(self, seed, nodes):
        self.seed = seed
        chance = self.chance = random.Random(seed)
        self.hosts = sorted(chance.sample(nodes, chance.randint(1, len(nodes))))
        self.ranks_each = chance.choice([1, 1, 2, 3])
        self.ranks = self.ranks_each * len(self.hosts)
        self.detached = chance.random() < 0.55
        self.window = chance.choice([10, 12, 20, 60])
        self.restarts = chance.choice([0, 0, 1, 2, 4])
        self.loss = chance.choice([None, None, "continue", "stop", "15s"])
        self.grace = chance.choice([1, 2, 3])
        self.context = chance.random() < 0.3
        self.openssh = chance.random() < 0.15
        self.overflow = chance.choice([None, None, "block", "drop"])
        self.script = self.make_script()
        self.faults = self.make_faults(nodes)
        # Who goes on with it when its launcher is gone, and when; nobody: it is left alone.
        self.adopters = chance.choice([1, 1, 1, 2, 3])
        self.adopt_after = chance.choice([0, 0.3, 2, 7])
        self.abandon = not self.continues and chance.random() < 0.4

    @property
    def continues(self):
        return self.loss == "continue" or (self.loss is None and self.detached)

    @property
    def harmless(self):
        """Seconds that a host may be out of reach without its agent telling its ranks to end: the
        newest answer that it knows to have come may be 6 s old, and this machine may be busy."""
        if self.continues:
            return 60
        return self.window - min(self.grace, self.window / 4) - 6 - 2

    def make_script(self):
        chance = self.chance
        flood = chance.random() < 0.25
        seconds = chance.choice([0, 1, 4, 10, 18])
        fails = {}
        if chance.random() < 0.4:
            fails[str(chance.randrange(self.ranks))] = (chance.choice([1, 3, 80, 77]),
                                                        chance.choice([1, 1, 2, 9]))
        return {"lines": chance.randint(100_000, 400_000) // self.ranks if flood
                else chance.randint(5, 3000),
                "seconds": seconds, "fails": fails, "deaf": chance.random() < 0.15,
                "daemon": chance.random() < 0.3, "ragged": chance.random() < 0.2}

    def make_faults(self, nodes):
        chance = self.chance
        mortal = [host for host in self.hosts if host in nodes[-MORTAL:]]
        faults = []
        # Some tasks are disturbed in ways that nothing may come of, others in any, a few not at all.
        kinds = chance.choice([SOFT, SOFT + HARD, SOFT + HARD, ()])
        for _ in range(chance.choice([1, 1, 2, 3]) if kinds else 0):
            kind = chance.choice(kinds)
            if kind in ("power", "crash") and not mortal:
                kind = "agent"
            host = chance.choice(mortal if kind in ("power", "crash") else self.hosts)
            short = kind.startswith("short")
            length = chance.choice([0.5, 2, 4] if short else [1, 3, 8, 14, 25])
            faults.append(Fault(kind.removeprefix("short "), host,
                                chance.uniform(0, max(1, self.script["seconds"])), length,
                                not short and kind in HARD and chance.random() < 0.15))
        if chance.random() < (0.6 if self.continues else 0.3):
            for _ in range(chance.choice([1, 1, 2, 4])):
                faults.append(Fault("launcher", "head", chance.uniform(0, 12), 0,
                                    chance.random() < 0.15))
        if chance.random() < 0.12:
            faults.append(Fault("stop", "head", chance.uniform(0, 8), 0, chance.random() < 0.3))
        if chance.random() < 0.1:
            faults.append(Fault("full head", "head", chance.uniform(0, 6), chance.choice([2, 6]),
                                chance.random() < 0.2))
        return sorted(faults, key=lambda fault: fault.at)

    def has(self, *kinds):
        return any(fault.kind in kinds for fault in self.faults)

    def is_hard(self, fault):
        """Whether ranks may come to harm by it."""
        if fault.kind in ("cut", "cut in", "cut out", "freeze"):
            return fault.early or fault.length > self.harmless
        return fault.kind in HARD

    def hard_hosts(self):
        return {fault.host for fault in self.faults if self.is_hard(fault)}

    def is_left_alone(self):
        """Nothing was done that its ranks may notice."""
        lost = self.has("launcher") and not self.continues
        early = any(fault.early for fault in self.faults)
        return not (lost or early or self.hard_hosts() or self.has("stop", "full head"))

    def own_code(self):
        """How the ranks end it, with the restarts that it has."""
        codes = []
        for attempt in range(self.restarts + 1):
            failing = [code for code, attempts in self.script["fails"].values() if attempt < attempts]
            if not failing:
                return 0
            codes = failing
            if 80 in failing:
                break
        return codes[0]

    def codes(self):
        """The exit codes that may come of it."""
        if self.is_left_alone():
            return {self.own_code()}
        codes = {self.own_code(), 0} | {code for code, _ in self.script["fails"].values()}
        if self.hard_hosts():
            codes |= {76, 137, 143}
        if self.has("stop"):
            codes |= {130, 143}
        if self.has("full head"):
            codes |= {66, 76}
        if self.has("launcher"):
            codes |= {76, 130, 137, 143}
        return codes

    def arguments(self, shared_folder):
        words = ["launch", "-n", str(self.ranks),
                 "-H", ",".join(f"{host}:{self.ranks_each}" for host in self.hosts)]
        settings = {"max_restarts": self.restarts, "restart_delay": "300ms",
                    "reconnect_window": f"{self.window}s", "stop_grace": f"{self.grace}s",
                    "log_limit": "1GiB", "on_launcher_loss": self.loss,
                    "spool_overflow": self.overflow}
        words += ["-d"] if self.detached else []
        words += ["--transport", "openssh"] if self.openssh else []
        words += ["--context", "/root/context"] if self.context else []
        for key, value in settings.items():
            words += ["--set", f"{key}={value}"] if value is not None else []
        program = "rank.py" if self.context else "/srv/shared/bin/rank.py"
        return words + ["--", "/usr/bin/python3", program, shared_folder, json.dumps(self.script)]

    def __str__(self):
        said = [f"{self.ranks} ranks on {','.join(self.hosts)}",
                "detached" if self.detached else "foreground",
                f"loss {self.loss}, window {self.window} s, restarts {self.restarts}",
                f"{self.script}"] + [str(fault) for fault in self.faults]
        return "; ".join(said)
