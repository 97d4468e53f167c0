# SPDX-License-Identifier: Apache-2.0
"""compare_environment.py PLAN FOLDER TASK SESSION...

Compares the environment that PLAN (of train plan --json) gives to each rank with what the rank has
written to FOLDER/env.RANK (env -0). SESSION are the launcher's own variables: NAME=VALUE, or NAME
alone when the value does not matter. Prints what differs, and fails.
"""

import json
import os
import re
import sys

plan_file, folder, task, *session = sys.argv[1:]
launcher = dict(entry.partition("=")[::2] for entry in session)
trial = json.load(open(plan_file, encoding="utf-8"))["trials"][0]
troubles = []
# What a shell adds by itself.
of_shells = {"_", "PWD", "OLDPWD", "SHLVL"}
scrubbed = ("SLURM_", "OMPI_", "PMI_", "TORCHELASTIC_")
at_launch = {
    "task_id": re.compile(re.escape(task) + r"\Z"),
    "rendezvous_address": re.compile(r"127\.0\.0\.1\Z"),
    "rendezvous_port": re.compile(r"\d{4,5}\Z"),
    "rendezvous_host": re.compile(r"127\.0\.0\.1\Z"),
    "rendezvous_endpoint": re.compile(r"127\.0\.0\.1:\d{4,5}\Z"),
    "run_directory": re.compile(r"/.+/" + re.escape(task) + r"-\d+\Z"),
    "error_file": re.compile(r"/.+/error-\d+\.json\Z"),
    "heartbeat_file": re.compile(r"/.+/heartbeat-\d+\Z"),
    "stop_file": re.compile(r"/.+/stop-0\Z"),
    "metrics_file": re.compile(r"/.+/metrics-\d+\.jsonl\Z"),
}


def check(rank, name, planned, actual):
    if actual is None:
        troubles.append(f"rank {rank}: {name} is planned and not set")
    elif isinstance(planned, str):
        if planned != actual:
            troubles.append(f"rank {rank}: {name} is planned as {planned!r} and is {actual!r}")
    elif planned.get("redacted"):
        if actual != launcher.get(name):
            troubles.append(f"rank {rank}: {name} is not the launcher's value")
    elif not at_launch[planned["at_launch"]].match(actual):
        troubles.append(f"rank {rank}: {name} is {actual!r}, no {planned['at_launch']}")


for planned_rank in trial["ranks"]:
    rank = planned_rank["rank"]
    with open(os.path.join(folder, f"env.{rank}"), "rb") as file:
        entries = file.read().decode("utf-8", "surrogateescape").split("\0")
    actual = dict(entry.partition("=")[::2] for entry in entries if entry)
    # Both end with the folder of what ranks report with.
    for name in ("PATH", "PYTHONPATH"):
        rest, end, behind = actual[name].rpartition(actual["TRAIN_RUN_DIR"] + "/tools")
        if not end or behind:
            troubles.append(f"rank {rank}: {name} does not end with the tools in TRAIN_RUN_DIR")
        actual[name] = rest.removesuffix(":")
        if not actual[name]:
            del actual[name]
    for name, planned in planned_rank["env"].items():
        check(rank, name, planned, actual.get(name))
    for name in sorted(set(actual) - set(planned_rank["env"]) - of_shells):
        if name not in launcher:
            troubles.append(f"rank {rank}: {name} comes from nowhere")
        elif name.startswith(scrubbed):
            troubles.append(f"rank {rank}: {name} is of another launcher")
    for name in set(launcher) - set(actual) - set(planned_rank["env"]):
        if not name.startswith(scrubbed):
            troubles.append(f"rank {rank}: {name} of the session is missing")

print("\n".join(troubles))
sys.exit(1 if troubles else 0)
