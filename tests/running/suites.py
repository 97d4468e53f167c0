# SPDX-License-Identifier: Apache-2.0
"""What can be run and counted: test scripts, and the tests that CTest knows."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_SAID = 12  # lines of what a test says of a failure, in the summary
SCRIPT_LIMIT_S = 2400  # the longest takes a fifth of it on a busy machine
SKIPPED = 77


@dataclasses.dataclass(frozen=True)
class Failure:
    suite: object  # that it is of
    case: str | None  # its sentence; None where all of the suite failed
    said: str
    may_be_tried_again: bool = True

    @property
    def name(self):
        return f"{self.suite.name}: {self.case}" if self.case else self.suite.name


@dataclasses.dataclass
class Result:
    suite: object
    output: str
    seconds: float
    passed: int = 0
    skipped: int = 0
    failures: list = dataclasses.field(default_factory=list)
    reasons: list = dataclasses.field(default_factory=list)  # why something was skipped

    def fail(self, said, case=None, may_be_tried_again=True):
        self.failures.append(Failure(self.suite, case, said, may_be_tried_again))


running = set()  # process groups
in_the_background = set()  # of these


def end_all():
    for group in list(running):
        try:
            os.killpg(group, signal.SIGTERM)
        except ProcessLookupError:
            pass


def be_in_the_background():
    """Of a session that takes what others leave: nice counts only within a session, where the kernel
    groups processes by it."""
    os.nice(19)
    try:
        pathlib.Path("/proc/self/autogroup").write_text("19")
    except OSError:
        pass  # this kernel does not group them, so nice is enough


def come_forward():
    """What runs in the background has as much of the machine as others from now on: nobody is left who
    needs the clock, and beside other work of the machine it would never end."""
    global background_is_over
    background_is_over = True
    for group in list(in_the_background):
        try:
            os.setpriority(os.PRIO_PGRP, group, 0)
            pathlib.Path(f"/proc/{group}/autogroup").write_text("0")
        except OSError:
            pass  # it has ended, or we may not


background_is_over = False


def execute(command, limit_s, environment=None, directory=ROOT, in_background=False):
    """Its exit status (None: the limit was over, and its processes were killed), output and seconds."""
    began = time.monotonic()
    in_background = in_background and not background_is_over
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=directory,
            env=dict(os.environ, **(environment or {})), start_new_session=True,
            preexec_fn=be_in_the_background if in_background else None)
        running.add(process.pid)
        if in_background:
            in_the_background.add(process.pid)
            if background_is_over:  # meanwhile
                come_forward()
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # scripts clean up behind themselves
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            status = None
        running.discard(process.pid)
        in_the_background.discard(process.pid)
        output.seek(0)
        return status, output.read().decode(errors="replace"), time.monotonic() - began


def last_lines(output, count=MOST_SAID):
    return "\n".join("    " + line for line in output.splitlines()[-count:])


class Script:
    """A test script. It is given the program, says "ok NAME", "FAILED NAME" and "SKIPPED: why" for its
    cases, what it has to say of a failure indented, and ends with the line that the runner ends with."""

    NEEDS_CLOCK = True
    CASE = re.compile(r'^\s*(test|race|soak)_case "((?:[^"\\]|\\.)*)"', re.M)

    def __init__(self, path, program):
        self.path, self.program = path, program
        self.name = str(path.relative_to(ROOT / "tests"))
        self.text = path.read_text()
        # It has a bed of its own for cases that wait long.
        self.lanes = 2 if "start_slow_cases" in self.text else 1

    @property
    def has_soak(self):
        return re.search(r"^\s*(soak|race)_case ", self.text, re.M) is not None

    def cases(self):
        """The sentences of its cases, as patterns where they have variables."""
        return [re.compile(re.sub(r"\\\$(\\\{[^}]*\\\}|\w+)", ".*", re.escape(sentence)))
                for _, sentence in self.CASE.findall(self.text)]

    def run(self, case=None, in_background=False):
        status, output, seconds = execute(
            [str(self.path), self.program], SCRIPT_LIMIT_S, {"TRAIN_TEST_ONLY": case} if case else None,
            in_background=in_background)
        result = Result(self, output, seconds)
        result.reasons = [line[len("SKIPPED: "):] for line in output.splitlines() if line.startswith("SKIPPED: ")]
        last = output.splitlines()[-1] if output.strip() else ""
        counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last)
        if status is None or not counts:
            how = f"ended with {status}" if status is not None else f"did not end in {SCRIPT_LIMIT_S} s"
            result.fail(f"{how} and without a summary; its last lines:\n{last_lines(output)}")
            return result
        result.passed, failed, result.skipped = map(int, counts.groups())
        self.collect_failures(result)
        if len(result.failures) < failed:
            result.fail(f"{failed - len(result.failures)} more failures than it has named")
        if status not in (0, SKIPPED) and not failed:
            result.fail(f"ended with {status} although no case failed")
        return result

    @staticmethod
    def collect_failures(result):
        """What is said of a failure is indented, before or behind FAILED."""
        held, told = [], None  # lines since the last case; of the case that failed
        failed = []
        for line in result.output.splitlines():
            if line.startswith(("FAILED ", "FAIL ")):
                told = [line] + held[-MOST_SAID:]
                failed.append(told)
                held = []
            elif not line.startswith("    "):
                held, told = [], None
            elif told is None:
                held.append(line)
            elif len(told) <= 2 * MOST_SAID:
                told.append(line)
        for lines in failed:
            found = re.fullmatch(r"FAIL(?:ED)? +(.*?)(?: \(\d+ s(, no second try)?\))?", lines[0])
            result.fail("\n".join(lines), found[1], found[2] is None)


class Program:
    """A test that CTest knows: a program of Catch2 or a linter."""

    lanes = 1
    has_soak = False
    # What reads no clock: a failure there is one, however busy the machine.
    WITHOUT_CLOCK = re.compile(r"unit\.(config_schema|launcher|search|simulation|ssh_formats)$|lint\.|fuzz\.")

    def __init__(self, test):
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        self.name, self.command = test["name"], test.get("command")
        self.limit_s = float(properties.get("TIMEOUT", 1500))
        self.directory = properties.get("WORKING_DIRECTORY", ROOT)
        self.cost = float(properties.get("COST", 0))
        self.needs_clock = not self.WITHOUT_CLOCK.match(self.name)
        self.is_catch = self.name.startswith("unit.")

    def cases(self):
        if not self.is_catch or not self.command:
            return []
        said = subprocess.run([self.command[0], "--list-test-names-only"], capture_output=True, text=True)
        return [re.compile(re.escape(line)) for line in said.stdout.splitlines()]

    def run(self, case=None, in_background=False):
        if not self.command or not os.access(self.command[0], os.X_OK):
            result = Result(self, "", 0)
            result.fail("its program was not built", may_be_tried_again=False)
            return result
        command = self.command
        if case:
            # Catch2 takes what is between commas for names, even within quotes.
            command = [command[0], '"' + re.sub(r'([\\",\[\]])', r"\\\1", case) + '"']
        status, output, seconds = execute(command, self.limit_s, None, self.directory, in_background)
        result = Result(self, output, seconds)
        result.reasons = re.findall(r"SKIPPED: (.*)", output)
        result.skipped = len(result.reasons)
        if status == SKIPPED and not self.is_catch:
            return result
        passed = re.search(r"^All tests passed \(.* in (\d+) test cases?\)", output, re.M)
        some = re.search(r"^test cases: *\d+ \|(?: *(\d+) passed \|)?.*failed", output, re.M)
        if status == 0 and case and not passed:
            result.fail("its name finds no test", case, may_be_tried_again=False)
            return result
        if status == 0:
            result.passed = (int(passed[1]) if passed else 1) - result.skipped
            return result
        result.passed = int(some[1] or 0) if some else 0
        for note, name in re.findall(r"^FAILED CASE( \(no second try\))?: (.*)$", output, re.M):
            result.fail(self.said_of(output, name), name, self.needs_clock and not note)
        if not result.failures:
            how = f"ended with {status}" if status is not None else f"did not end in {self.limit_s:.0f} s"
            result.fail(f"{how}; its last lines:\n{last_lines(output)}", None, self.needs_clock)
        return result

    @staticmethod
    def said_of(output, case):
        """Catch2 prints the name of a case between lines, and then what failed."""
        lines = output.splitlines()
        until = lines.index("FAILED CASE: " + case) if "FAILED CASE: " + case in lines else len(lines)
        begin = max((i for i in range(until) if lines[i] == case), default=until)
        return "\n".join("    " + line for line in lines[begin:until] if line.strip())[:4000]


def scripts_in(folder, program):
    return [Script(path, program) for path in sorted((ROOT / "tests" / folder).glob("*_test.sh"))
            if os.access(path, os.X_OK)]


def programs_of(build):
    said = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True)
    tests = [Program(test) for test in json.loads(said.stdout)["tests"]]
    return sorted(tests, key=lambda test: -test.cost)
