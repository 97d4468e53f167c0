# SPDX-License-Identifier: Apache-2.0
"""Learns the slope of noisy points, and may be stopped anywhere: each rank has a model of its own.

A checkpoint holds all that the next step depends on, the state of the random numbers as well. So the
result does not depend on how often the training was stopped.
"""

import os
import pickle
import random

RANK = int(os.environ["RANK"])
STEPS = int(os.environ["TRAIN_HPARAM_STEPS"])
SAVE_EVERY = int(os.environ["TRAIN_HPARAM_SAVE_EVERY"])
FAIL_AT = int(os.environ["TRAIN_HPARAM_FAIL_AT"])
CHECKPOINT = os.path.join(os.environ["TRAIN_CHECKPOINT_DIR"], f"rank-{RANK}.pickle")


def save(step, slope):
    """A reader finds the old checkpoint or the new one, and never half of one."""
    with open(CHECKPOINT + ".new", "wb") as file:
        pickle.dump((step, slope, random.getstate()), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(CHECKPOINT + ".new", CHECKPOINT)


def restore():
    """(steps that are done, slope): of the last attempt, or of the beginning."""
    if not os.path.exists(CHECKPOINT):
        random.seed(RANK)
        return 0, 0.0
    with open(CHECKPOINT, "rb") as file:
        step, slope, state = pickle.load(file)
    random.setstate(state)
    print(f"goes on after step {step}", flush=True)
    return step, slope


def fails_now(step):
    """Rank 1 may fail once: in the first attempt."""
    return RANK == 1 and step == FAIL_AT and os.environ["TRAIN_RESTART_COUNT"] == "0"


def main():
    step, slope = restore()
    while step < STEPS:
        x = random.uniform(-1, 1)
        y = 3 * x + random.gauss(0, 0.1)
        slope += 0.1 * (y - slope * x) * x
        step += 1
        if fails_now(step):
            raise SystemExit(f"fails at step {step}")
        is_to_stop = os.path.exists(os.environ["TRAIN_STOP_FILE"])
        if is_to_stop or step % SAVE_EVERY == 0 or step == STEPS:
            save(step, slope)
        if is_to_stop:
            print(f"stops after step {step}", flush=True)
            return
    print(f"slope {slope:.12f} after {step} steps", flush=True)


if __name__ == "__main__":
    main()
