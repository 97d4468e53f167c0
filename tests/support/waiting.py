# SPDX-License-Identifier: Apache-2.0
"""Waiting in Python programs of tests and benchmarks, as waiting.sh does it in shells."""

import os
import time

IDLE_S = 0.020  # what measure() takes on an idle machine of two cores
slowest = 1.0


def pace():
    """How many times slower this machine is than an idle one, 1 to 10: now, or at the slowest so far."""
    global slowest
    began = time.monotonic()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    state = 1
    for _ in range(160_000):
        state = state * 6364136223846793005 + 1442695040888963407 & 0xFFFFFFFFFFFFFFFF
    slowest = max(slowest, min(10.0, (time.monotonic() - began) / IDLE_S))
    return slowest


def eventually(seconds, holds):
    """Looks until `holds()` is true; its last answer. The limit is for an idle machine."""
    began = time.monotonic()
    while not (answer := holds()):
        waited = time.monotonic() - began
        if waited > seconds * slowest and waited > seconds * pace():
            return holds()
        time.sleep(0.02)
    return answer
