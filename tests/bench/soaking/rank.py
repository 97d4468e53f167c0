#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rank of a task of the soak: prints a stream that anybody can make again, and keeps count.

    rank.py FOLDER SCRIPT

SCRIPT is JSON: `lines` and `seconds` of a rank that is left alone, `fails` as {rank: [code, in how
many attempts]}, `deaf` (to SIGTERM), `daemon` (leaves a process in a session of its own), `ragged`
(no newline at the end). In FOLDER each rank keeps RANK.ATTEMPT.count: the bytes that it was about to
have printed, those that it had, and 1 once it had printed all.
"""

import fcntl
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time

COUNT = struct.Struct("<QQQ")


def line(rank, attempt, number):
    return b"%d.%d %08d %s\n" % (rank, attempt, number, b"x" * (number * 7919 % 97))


def stream(rank, attempt, script):
    """What it prints, in pieces of some lines."""
    lines = script["lines"]
    step = max(1, min(500, lines // 50))
    for first in range(0, lines, step):
        yield b"".join(line(rank, attempt, n) for n in range(first, min(lines, first + step)))
    yield b"end of %d.%d" % (rank, attempt) + (b"" if script["ragged"] else b"\n")


def code_of(rank, attempt, script):
    code, attempts = script["fails"].get(str(rank), (0, 0))
    return code if attempt < attempts else 0


def alone(folder, rank):
    """No two processes of a rank live at the same time. The lock is held until the end."""
    lock = open(f"{folder}/{rank}.lock", "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with open(f"{folder}/violations", "a") as file:
            file.write(f"two processes of rank {rank} live at the same time\n")
    return lock


def main():
    folder, script = sys.argv[1], json.loads(sys.argv[2])
    rank, attempt = int(os.environ["RANK"]), int(os.environ["TRAIN_RESTART_COUNT"])
    lock = alone(folder, rank)
    name = f"{folder}/{rank}.{attempt}.count"
    if os.path.exists(name):
        with open(f"{folder}/violations", "a") as file:
            file.write(f"attempt {attempt} of rank {rank} was started twice\n")
    with open(name, "wb") as file:
        file.write(COUNT.pack(0, 0, 0))
    with open(name, "r+b") as file:
        count = mmap.mmap(file.fileno(), COUNT.size)
    if script["deaf"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if script["daemon"]:
        subprocess.Popen(["sleep", "471101"], start_new_session=True, env={}, close_fds=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began, done = time.monotonic(), 0
    pieces = list(stream(rank, attempt, script))
    for number, piece in enumerate(pieces):
        COUNT.pack_into(count, 0, done + len(piece), done, 0)
        left = memoryview(piece)
        while left:
            left = left[os.write(1, left):]
        done += len(piece)
        COUNT.pack_into(count, 0, done, done, 0)
        due = began + script["seconds"] * (number + 1) / len(pieces)
        time.sleep(max(0, due - time.monotonic()))
    COUNT.pack_into(count, 0, done, done, 1)
    lock.flush()
    sys.exit(code_of(rank, attempt, script))


if __name__ == "__main__":
    main()
