# SPDX-License-Identifier: Apache-2.0
"""Runs test suites, and tries cases that failed again when nothing else runs; tests/run.sh installs,
builds and calls it.   run.py BUILD SUITE... | run.py BUILD --only NAME... | run.py BUILD steady ..."""

import argparse
import atexit
import collections
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import suites
from suites import ROOT, Program

LANES = 3  # scripts at a time: they wait more than they work
MOST_UNSTEADY = 3
MOST_TRIED_AGAIN = 12  # where more fails, something is broken
began = float(os.environ.get("TRAIN_TESTS_BEGAN", time.time()))
prints = threading.Lock()

# Those that take a minute or more, longest first: one that is begun last is waited for alone.
LONGEST = ["cluster/" + name for name in (
    "network", "digits", "hostile", "flood", "attach", "openssh", "leases", "context", "search", "launch")
] + ["cli/" + name for name in ("search", "attach", "ending", "digits_search")]


def say(text=""):
    with prints:
        print(text, flush=True)


def step(what):
    """With the time that all before it took."""
    took = time.time() - began
    say(f"\n=== {what} (after {took // 60:.0f} min {took % 60:.0f} s)")


class Tally:
    """What has come of all that was run so far."""

    def __init__(self):
        self.passed = self.skipped = 0
        self.failures, self.reasons, self.unsteady = [], [], []

    def count(self, result):
        self.passed += result.passed
        self.skipped += result.skipped
        self.failures += result.failures
        self.reasons += [f"{result.suite.name}: {reason}" for reason in result.reasons]

    def show(self, result):
        with prints:
            print(f"\n=== {result.suite.name} ({result.seconds:.0f} s, load {os.getloadavg()[0]:.1f})")
            if not result.suite.name.startswith(("unit", "lint", "fuzz")) or result.failures:
                print(result.output.rstrip())
            else:
                print(f"{result.passed} passed")
            sys.stdout.flush()


def run_in_lanes(wanted, tally, lanes=LANES):
    """Those of two lanes have two beds. Each is shown when it has ended."""
    waiting = sorted(wanted, key=lambda suite: next(
        (i for i, name in enumerate(LONGEST) if suite.name.startswith(name + "_test")), len(LONGEST)))
    free = threading.Condition()
    used = 0

    def one(suite, lanes_of_it):
        nonlocal used
        result = suite.run()
        with free:
            used -= lanes_of_it
            tally.count(result)
            tally.show(result)
            free.notify()

    threads = []
    while waiting:
        with free:
            suite = None
            while suite is None:
                suite = next((each for each in waiting if used + min(each.lanes, lanes) <= lanes), None)
                if suite is None:
                    free.wait()
            waiting.remove(suite)
            lanes_of_it = min(suite.lanes, lanes)
            used += lanes_of_it
        threads.append(threading.Thread(target=one, args=(suite, lanes_of_it), daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join()


def build(target, tally, in_background=False):
    status, output, seconds = suites.execute(
        ["cmake", "--build", "--preset", "release", "--target", target, "--", "-k0"], 5400, in_background=in_background)
    say(f"\n=== build of {target} ({seconds:.0f} s)\n{suites.last_lines(output, 100 if status else 1)}")
    if status != 0:
        failed = suites.Result(BuildOf(target), output, seconds)
        failed.fail(f"the build of {target} failed", may_be_tried_again=False)
        tally.count(failed)
    return status == 0


class BuildOf:
    def __init__(self, target):
        self.name = "build of " + target


def beside(arguments, tally):
    """What needs no clock: the build of the tests, then those of pure code and the linters."""
    build("all", tally, in_background=True)
    for program in suites.programs_of(arguments.build):
        if not program.needs_clock:
            result = program.run(in_background=True)
            tally.count(result)
            tally.show(result)


def run_all(arguments, tally):
    others = threading.Thread(target=beside, args=(arguments, tally), daemon=True)
    others.start()
    run_in_lanes(scripts(arguments, "cluster", "cli"), tally)
    step("what ran beside")
    suites.come_forward()
    others.join()
    step("unit tests of what has to do with time")
    run_in_lanes([each for each in suites.programs_of(arguments.build) if each.needs_clock], tally, 2)
    step("browser")
    run_in_lanes(scripts(arguments, "browser"), tally, 1)


# How much more of the same a soak plays than every run.
SOAK = {"TRAIN_SOAK": "1", "TRAIN_SEEDS": "20000", "TRAIN_RACES": "1000", "TRAIN_KILLS": "200", "TRAIN_CRASHES": "10000"}


def run_soak(arguments, tally):
    os.environ.update(SOAK)
    run_in_lanes([script for script in scripts(arguments, "cluster", "cli", "bench") if script.has_soak], tally)
    run_in_lanes([each for each in suites.programs_of(arguments.build) if each.name == "unit.simulation"], tally)
    run_in_lanes([suites.Script(ROOT / "tests/fuzz/fuzz.sh", arguments.program)], tally)


def scripts(arguments, *folders):
    return [script for folder in folders for script in suites.scripts_in(folder, arguments.program)]


def try_again(tally):
    """Each case that failed alone, on an idle machine, twice at most. What passes then is unsteady."""
    again = [failure for failure in tally.failures if failure.may_be_tried_again]
    if not again or len(again) > MOST_TRIED_AGAIN:
        return
    step(f"second tries of {len(again)}")
    for failure in again:
        outputs = [failure.said]
        for _ in range(2):
            load = os.getloadavg()[0]
            result = failure.suite.run(failure.case)
            say(f"\n--- {failure.name}, again, alone ({result.seconds:.0f} s, load {load:.1f})\n{result.output.rstrip()}")
            outputs.append(f"again, alone, at load {load:.1f}:\n{result.output.rstrip()}")
            if result.passed and not result.failures:
                tally.failures.remove(failure)
                tally.unsteady.append((failure.name, "\n".join(outputs)))
                tally.passed += 1
                break


def sum_up(arguments, tally):
    step("summary")
    for failure in tally.failures:
        say(f"{failure.suite.name}: {failure.said}")
    for name, _ in tally.unsteady:
        say(f"UNSTEADY {name}: failed, and passed alone")
    for reason in tally.reasons:
        say(f"SKIPPED {reason}")
    (pathlib.Path(arguments.build).parent / "unsteady.txt").write_text(
        "".join(f"{name}\n{said}\n\n" for name, said in tally.unsteady))
    failed = len(tally.failures)
    if len(tally.unsteady) > MOST_UNSTEADY:
        say(f"more than {MOST_UNSTEADY} unsteady cases are a failure")
        failed += 1
    if os.environ.get("CI") == "true" and tally.skipped:
        say(f"nothing may be skipped here (CI=true): {tally.skipped} skipped tests count as failed")
        failed, tally.skipped = failed + tally.skipped, 0
    counted = f"{tally.passed} passed, {failed} failed, {tally.skipped} skipped"
    say(f"{counted}, {len(tally.unsteady)} unsteady")
    say(counted)
    return 0 if failed == 0 and tally.passed else 1


def chosen(arguments, names):
    """(suite, case or None) of each name: a folder, a suite, or the sentence of a case."""
    everything = scripts(arguments, "cluster", "cli", "browser", "bench") + suites.programs_of(arguments.build)
    found = []
    for name in names:
        whole = [suite for suite in everything if suite.name == name or suite.name.startswith((name + "/", name + "_test", name + "."))]
        found += [(suite, None) for suite in whole]
        if not whole:
            cases = [(suite, name) for suite in everything if any(case.fullmatch(name) for case in suite.cases())
                     and not suite.name.endswith(".waits")]  # the same program as without
            if not cases:
                sys.exit(f"run.sh: no suite and no case is called '{name}'")
            found += cases
    return found


def run_only(arguments, tally):
    for suite, case in chosen(arguments, arguments.names):
        result = suite.run(case)
        tally.count(result)
        tally.show(result)


def steady(arguments):
    """Runs again and again beside two busy loops, without second tries; what failed in which rounds."""
    chosen_ones = chosen(arguments, arguments.names or ["cli", "cluster", "unit.backend_agent", "unit.backend_attempt", "unit.backend_process"])
    whole = [suite for suite, case in chosen_ones if case is None]
    loops = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(2)]
    atexit.register(lambda: [loop.kill() for loop in loops])
    failed_in, rounds_of = collections.defaultdict(list), range(1, arguments.rounds + 1)
    passed = 0
    for number in rounds_of:
        step(f"round {number} of {arguments.rounds}")
        tally = Tally()
        run_in_lanes(whole, tally)
        for suite, case in chosen_ones:
            if case:
                result = suite.run(case)
                tally.count(result)
                tally.show(result)
        passed += tally.passed
        for failure in tally.failures:
            failed_in[failure.name].append(number)
    step("failures, and the rounds in which they were")
    for name, numbers in sorted(failed_in.items(), key=lambda item: -len(item[1])):
        say(f"{len(numbers)} of {arguments.rounds}  {name} (rounds {', '.join(map(str, numbers))})")
    say(f"{passed} passed, {sum(map(len, failed_in.values()))} failed, 0 skipped")
    return 1 if failed_in or not passed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("suite")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    arguments.program = arguments.build + "/cli/train"
    atexit.register(suites.end_all)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.suite == "steady":
        return steady(arguments)
    tally = Tally()
    if arguments.suite == "all":
        run_all(arguments, tally)
    elif arguments.suite == "only":
        run_only(arguments, tally)
        return sum_up(arguments, tally)
    elif arguments.suite == "soak":
        run_soak(arguments, tally)
        return sum_up(arguments, tally)
    elif arguments.suite == "unit":
        run_in_lanes(suites.programs_of(arguments.build), tally)
    else:
        run_in_lanes(scripts(arguments, arguments.suite), tally)
    try_again(tally)
    return sum_up(arguments, tally)


if __name__ == "__main__":
    sys.exit(main())
