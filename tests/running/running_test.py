# SPDX-License-Identifier: Apache-2.0
"""What run.py makes of scripts that pass, fail, fail once, and end in odd ways.   running_test.py"""

import argparse
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run
import suites

CASES = pathlib.Path(__file__).resolve().parents[1] / "support/cases.sh"
HEAD = f"""#!/bin/bash
. {CASES}
show_case() {{ echo '      it was seen'; }}
holds() {{ :; }}
breaks() {{ note_failure 'two is not three'; }}
breaks_once() {{ [ -e "$0.seen" ] || breaks; touch "$0.seen"; }}
"""


class Running(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.arguments = argparse.Namespace(build=self.folder.name + "/build/release")
        os.makedirs(self.arguments.build)
        run.MOST_UNSTEADY = 1
        os.environ.pop("CI", None)

    def script(self, text, name="some_test.sh"):
        path = pathlib.Path(self.folder.name, name)
        path.write_text(HEAD + text)
        path.chmod(0o755)
        script = suites.Script.__new__(suites.Script)
        script.path, script.program, script.text, script.lanes, script.name = path, "train", text, 1, name
        return script

    def outcome(self, *scripts):
        """The exit status and the lines of a run of these scripts."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            tally = run.Tally()
            run.run_in_lanes(list(scripts), tally)
            run.try_again(tally)
            status = run.sum_up(self.arguments, tally)
        return status, said.getvalue().splitlines()

    def test_what_passes_is_counted(self):
        status, said = self.outcome(self.script("test_case 'all is well' holds; finish"))
        self.assertEqual(status, 0)
        self.assertEqual(said[-2:], ["1 passed, 0 failed, 0 skipped, 0 unsteady", "1 passed, 0 failed, 0 skipped"])

    def test_what_fails_again_is_a_failure_with_its_words(self):
        status, said = self.outcome(self.script("test_case 'it holds' breaks; test_case 'so does this' holds; finish"))
        self.assertEqual((status, said[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        summary = said[[line.startswith("=== summary") for line in said].index(True):]
        self.assertIn("    two is not three", summary)
        self.assertTrue(any(line.startswith("some_test.sh: FAILED it holds (") for line in summary))

    def test_what_passes_alone_is_unsteady_and_named(self):
        status, said = self.outcome(self.script("test_case 'mostly' breaks_once; test_case 'other' holds; finish"))
        self.assertEqual(status, 0)
        self.assertIn("UNSTEADY some_test.sh: mostly: failed, and passed alone", said)
        self.assertEqual(said[-2:], ["2 passed, 0 failed, 0 skipped, 1 unsteady", "2 passed, 0 failed, 0 skipped"])
        kept = pathlib.Path(self.folder.name, "build/unsteady.txt").read_text()
        self.assertIn("two is not three", kept)

    def test_what_takes_long_is_of_a_soak_or_asked_for_alone(self):
        script = self.script("test_case 'it holds' holds; soak_case 'it takes long' holds; finish")
        for case, soak, ran in ((None, None, "it holds"), ("it takes long", None, "it takes long"), (None, "1", "it takes long")):
            os.environ.update({"TRAIN_SOAK": soak} if soak else {})
            result = script.run(case)
            os.environ.pop("TRAIN_SOAK", None)
            self.assertEqual([line.split(" (")[0] for line in result.output.splitlines()][:-1], ["ok     " + ran])

    def test_only_the_case_that_failed_is_tried_again(self):
        _, said = self.outcome(self.script("test_case 'mostly' breaks_once; test_case 'other' holds; finish"))
        self.assertEqual(sum(line.startswith("ok     other") for line in said), 1)

    def test_too_many_that_are_unsteady_are_a_failure(self):
        status, said = self.outcome(self.script("test_case 'one' breaks_once; finish", "one_test.sh"),
                                    self.script("test_case 'two' breaks_once; finish", "two_test.sh"))
        self.assertEqual((status, said[-1]), (1, "2 passed, 1 failed, 0 skipped"))

    def test_a_race_is_not_tried_again(self):
        status, said = self.outcome(self.script("race_case 'a thousand times' breaks_once; finish"))
        self.assertEqual((status, said[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_script_without_a_summary_has_failed(self):
        status, said = self.outcome(self.script("test_case 'all is well' holds; echo oh; exit 3"))
        self.assertEqual((status, said[-1]), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertTrue(any("ended with 3 and without a summary" in line for line in said))

    def test_a_script_that_fails_behind_its_last_case_has_failed(self):
        status, said = self.outcome(self.script("trap 'exit 9' EXIT; test_case 'all is well' holds; finish"))
        self.assertEqual(status, 1)
        self.assertTrue(any("ended with 9 although no case failed" in line for line in said))

    def test_what_is_skipped_is_a_failure_in_ci_alone(self):
        lacks = "lacks() { skip 'no bed'; }; test_case 'on a bed' lacks; test_case 'other' holds; finish"
        self.assertEqual(self.outcome(self.script(lacks))[0], 0)
        os.environ["CI"] = "true"
        status, said = self.outcome(self.script(lacks))
        self.assertEqual((status, said[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_cases_are_found_by_their_sentence(self):
        script = self.script('test_case "an SSH server that sends $mode" holds; finish')
        # As run.py finds it: at the beginning of a line.
        self.assertTrue(any(case.fullmatch("an SSH server that sends windows") for case in script.cases()))

    @unittest.skipUnless(os.geteuid() == 0, "only root may have more of the machine again")
    def test_what_ran_in_the_background_comes_forward(self):
        self.addCleanup(setattr, suites, "background_is_over", False)
        here, go = (pathlib.Path(self.folder.name, name) for name in ("here", "go"))
        shown = f"nice; touch {here}; until [ -e {go} ]; do sleep 0.02; done; nice; cat /proc/self/autogroup"
        said = []
        waiting = threading.Thread(
            target=lambda: said.append(suites.execute(["/bin/sh", "-c", shown], 60, in_background=True)))
        waiting.start()
        while not here.exists():
            time.sleep(0.02)  # waits: looks again and again, and the limit above ends what hangs
        suites.come_forward()
        go.touch()
        waiting.join()
        status, output, _ = said[0]
        self.assertEqual((status, output.split()[:2]), (0, ["19", "0"]))
        if "nice" in output:  # this kernel groups by sessions
            self.assertTrue(output.strip().endswith(" nice 0"), output)
        # As nice as this test, which may run in the background itself.
        self.assertEqual(suites.execute(["/usr/bin/nice"], 60, in_background=True)[1], f"{os.nice(0)}\n")

    def test_a_program_of_catch_names_what_failed(self):
        path = pathlib.Path(self.folder.name, "program")
        path.write_text("#!/bin/sh\nif [ -e \"$0.seen\" ]; then echo 'All tests passed (1 assertion in 1 test case)'; exit; fi\n"
                        "touch \"$0.seen\"\necho 'FAILED CASE: a port, held'\necho 'test cases: 5 | 4 passed | 1 failed'\nexit 1\n")
        path.chmod(0o755)
        program = suites.Program({"name": "unit.backend_posix", "command": [str(path)]})
        status, said = self.outcome(program)
        self.assertEqual((status, said[-1]), (0, "5 passed, 0 failed, 0 skipped"))
        self.assertIn("UNSTEADY unit.backend_posix: a port, held: failed, and passed alone", said)

    def test_a_second_try_that_runs_no_test_has_not_passed(self):
        path = pathlib.Path(self.folder.name, "program")
        path.write_text("#!/bin/sh\nif [ -e \"$0.seen\" ]; then echo \"$1\" >\"$0.asked\"; echo 'No tests ran'; exit; fi\n"
                        "touch \"$0.seen\"\necho 'FAILED CASE: a port, held'\necho 'test cases: 5 | 4 passed | 1 failed'\nexit 1\n")
        path.chmod(0o755)
        program = suites.Program({"name": "unit.backend_posix", "command": [str(path)]})
        status, said = self.outcome(program)
        self.assertEqual((status, said[-1]), (1, "4 passed, 1 failed, 0 skipped"))
        self.assertEqual(path.with_name("program.asked").read_text(), '"a port\\, held"\n')


if __name__ == "__main__":
    unittest.main()
