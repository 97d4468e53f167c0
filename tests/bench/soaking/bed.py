# SPDX-License-Identifier: Apache-2.0
"""The hosts of a soak, seen from outside: their processes, files and faults."""

import os
import pathlib
import signal
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TESTS / "support"))
from waiting import eventually

CLUSTER = TESTS / "cluster/cluster"
STATE = "/var/lib/soak"       # on the head: of the tasks that are disturbed
BYSTANDER = "/var/lib/bystander"


def read(path, otherwise=b""):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return otherwise


def has_locked(pid, path_end):
    """Whether the process holds a lock on a file whose path ends so; others have it open for a look."""
    try:
        files = [entry.name for entry in os.scandir(f"/proc/{pid}/fd") if os.readlink(entry.path).endswith(path_end)]
    except OSError:
        return False
    return any(b"\nlock:" in read(f"/proc/{pid}/fdinfo/{file}") for file in files)


class Process:
    """One that was seen, by its number out here."""

    def __init__(self, pid):
        self.pid = pid
        self.words = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
        fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        self.state, self.parent = (fields[0].decode(), int(fields[1])) if fields else ("X", 0)

    def kill(self, number=signal.SIGKILL):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass


class Bed:
    def __init__(self, hosts, slots):
        self.run("up", str(hosts), "--slots", str(slots))
        self.folder = pathlib.Path(self.run("where").strip())
        self.shared = self.folder / "shared"
        self.nodes = (self.shared / "hosts.plain").read_text().split()
        root = pathlib.Path("/sys/fs/cgroup/unified")
        root = root if root.is_dir() else root.parent
        self.cgroup = root / f"train-testbed-{os.environ['TRAIN_BED']}"
        for host in ["head"] + self.nodes:
            self.limit_disks(host)

    def run(self, *words):
        return subprocess.run([CLUSTER, *words], check=True, text=True, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL).stdout

    def limit_disks(self, host):
        """So small that they can be filled."""
        self.on(host, "mount -t tmpfs -o size=160m,mode=1777 tmp /tmp")
        if host == "head":
            self.on(host, f"mkdir -p {STATE} {BYSTANDER} && "
                          f"mount -t tmpfs -o size=400m state {STATE}")

    def on(self, host, command, seconds=60):
        """What a command prints there; its errors are those of this program."""
        return subprocess.run([CLUSTER, "exec", host, "timeout", str(seconds), "bash", "-c", command],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout

    def start(self, state, arguments, out, err):
        """`train ARGUMENTS` on the head."""
        words = ["env", "--default-signal=INT,QUIT", f"XDG_STATE_HOME={state}", "setsid", "--wait",
                 "/srv/shared/bin/train", *arguments]
        return subprocess.Popen([CLUSTER, "exec", "head", *words], stdin=subprocess.DEVNULL,
                                stdout=open(out, "wb"), stderr=open(err, "wb"))

    def train(self, state, arguments, seconds=60):
        """`train ARGUMENTS` to its end: status, stdout, stderr."""
        try:
            done = subprocess.run(
                [CLUSTER, "exec", "head", "env", f"XDG_STATE_HOME={state}",
                 "/srv/shared/bin/train", *arguments], stdin=subprocess.DEVNULL,
                capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired as late:
            return "timeout", late.stdout or b"", late.stderr or b""
        return done.returncode, done.stdout, done.stderr

    # --- Processes and files ---

    def processes(self, host):
        pids = []
        for folder, _, _ in os.walk(self.cgroup / host):
            pids += read(f"{folder}/cgroup.procs").split()
        found = [Process(int(pid)) for pid in pids]
        return [process for process in found if process.words and process.state not in "ZX"]

    def root_of(self, host):
        pid = read(self.cgroup / host / "cgroup.procs").split()
        init = [p for p in pid if b"hostinit" in read(f"/proc/{int(p)}/cmdline")]
        return pathlib.Path(f"/proc/{int(init[0])}/root") if init else None

    def supervisors(self, lock_end):
        """The processes on the head that have locked the file whose path ends so."""
        return [process for process in self.processes("head") if has_locked(process.pid, lock_end)]

    def agents(self, host, task):
        """By what they are: bridge, guard, agent, subreaper."""
        all_of = {p.pid: p for p in self.processes(host)
                  if f"agent attach {task}-" in p.words or f"agent reattach {task}-" in p.words}
        roles = {"bridge": [], "guard": [], "agent": [], "subreaper": []}
        for process in all_of.values():
            above = all_of.get(process.parent)
            if above is None:
                is_guard = any(p.parent == process.pid for p in all_of.values())
                roles["guard" if is_guard else "bridge"].append(process)
            else:
                roles["agent" if above.parent not in all_of else "subreaper"].append(process)
        return roles

    # --- Faults ---

    def fill(self, host, folder):
        root = self.root_of(host)
        try:
            with open(f"{root}{folder}/full", "wb") as file:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
        except OSError:
            pass

    def empty(self, host, folder):
        root = self.root_of(host)
        if root is not None:
            pathlib.Path(f"{root}{folder}/full").unlink(missing_ok=True)

    def down(self):
        self.run("down")
