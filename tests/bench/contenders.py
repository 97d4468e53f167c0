# SPDX-License-Identifier: Apache-2.0
"""Commands that are timed in turns, what they took, and the hosts that they run on.

Times depend on the machine: nothing here passes or fails. What is not installed, or fails, is left
out, and every table says so.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "tests/cluster/cluster"
ON_HEAD = [str(CLUSTER), "exec", "head"]
KEX = "curve25519-sha256"  # what train negotiates

# Runs its arguments and prints what they took. subprocess would look every 50 ms for a time limit.
METER = """
import json, os, resource, signal, subprocess, sys, time
with open(os.memfd_create("errors"), "w+b") as errors:
    signal.signal(signal.SIGALRM, lambda *_: child.kill())
    signal.alarm(int(sys.argv[1]))
    began, wall = time.perf_counter(), time.time_ns()
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=errors)
    status = child.wait()
    took = time.perf_counter() - began
    errors.seek(0)
    said = errors.read().decode(errors="replace").strip().splitlines()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": status, "began": wall, "wall": took, "kib": used.ru_maxrss,
                  "cpu": used.ru_utime + used.ru_stime, "said": said[-1] if said else ""}))
"""


class Contender:
    """A command to measure, and its runs: seconds `wall` and `cpu`, `kib` of its largest process.

    `absent` says why it cannot take part.
    """

    def __init__(self, name, command, needs=None, absent=""):
        self.name = name
        self.command = command
        self.absent = absent
        if needs and not shutil.which(needs):
            self.absent = f"{needs} is not installed"
        self.runs = []

    def run(self, prefix, limit_seconds):
        """Runs once, by way of the command `prefix`; a failure puts it out of the race."""
        argv = prefix + ["/usr/bin/python3", "-c", METER, str(limit_seconds)] + self.command
        done = subprocess.run(argv, capture_output=True, text=True)
        try:
            run = json.loads(done.stdout)
        except ValueError:
            self.absent = "could not be run: " + "".join(done.stderr.strip().splitlines()[-1:])
            return
        if run["status"] != 0:
            self.absent = f"failed with {run['status']}: {run['said']}"
            return
        self.runs.append(run)

    def median(self, key):
        return statistics.median(run[key] for run in self.runs)

    def spread(self, key, unit=1e3, digits=0):
        """Least and most, in parts of `unit` of a second."""
        values = [run[key] * unit for run in self.runs]
        return f"({min(values):.{digits}f}-{max(values):.{digits}f})"


def take_turns(contenders, rounds, prefix, limit_seconds, before=None, after=None):
    """Lets all take turns; a first round, not counted, fills the caches.

    `before()` is called before each run, `after(contender)` after each that succeeded.
    """
    for round_number in range(rounds + 1):
        for contender in contenders:
            if contender.absent:
                continue
            if before:
                before()
            contender.run(prefix, limit_seconds)
            if after and not contender.absent:
                after(contender)
            if round_number == 0:
                contender.runs.clear()


def show(contenders, width, row):
    """A line for each: its name in `width` and `row(contender)`; then the commands."""
    for contender in contenders:
        said = f"left out: {contender.absent}" if contender.absent else row(contender)
        print(f"  {contender.name:{width}} {said}")
    print()
    for contender in contenders:
        print(f"    {contender.name}: {shlex.join(contender.command)}")
    sys.stdout.flush()


@contextlib.contextmanager
def cluster(train, hosts, slots=1):
    """Hosts of tests/cluster, with `train` in bin/ of their shared folder: what `with` gives."""
    os.environ["TRAIN_BED"] = f"bench-{os.getpid()}"
    try:
        subprocess.run([CLUSTER, "up", str(hosts), "--slots", str(slots)], check=True,
                       stdout=sys.stderr)
        where = subprocess.run([CLUSTER, "where"], check=True, capture_output=True, text=True)
        shared = pathlib.Path(where.stdout.strip()) / "shared"
        (shared / "bin").mkdir()
        shutil.copy(train, shared / "bin/train")
        yield shared
    finally:
        subprocess.run([CLUSTER, "down"], check=False)


def host_set(first, last):
    """Hosts of the cluster in the words of every launcher: a range has numbers of one width."""
    parts = []
    for least, most in ((1, 99), (100, 999)):
        begin, end = max(first, least), min(last, most)
        if begin <= end:
            parts.append(f"{begin:02}-{end:02}" if begin < end else f"{begin:02}")
    return f"node[{','.join(parts)}]" if first < last else f"node{first:02}"


def why_no_cluster():
    """Why this machine cannot make hosts; empty when it can."""
    check = subprocess.run([CLUSTER, "check"], capture_output=True, text=True)
    return check.stdout.strip() if check.returncode != 0 else ""


def parser_of(description, rounds, hosts):
    """The options that all benchmarks have; `rounds` and `hosts` are their defaults."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=pathlib.Path, default=ROOT / "build/release/cli/train")
    parser.add_argument("--rounds", type=int, default=rounds,
                        help=f"at least 5 (default: {rounds}); 1 only tries everything out")
    parser.add_argument("--hosts", default=hosts, help=f"default: {hosts}")
    return parser


def parse(parser):
    """The arguments, once they make sense; says what the machine does at the moment."""
    arguments = parser.parse_args()
    arguments.train = arguments.train.resolve()
    if arguments.rounds < 5 and arguments.rounds != 1:
        parser.error("--rounds: fewer than 5 say nothing")
    if not os.access(arguments.train, os.X_OK):
        parser.error(f"{arguments.train} is not there; build it: cmake --build --preset release")
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} before the start")
    return arguments
