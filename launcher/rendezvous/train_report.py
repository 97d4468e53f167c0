# SPDX-License-Identifier: Apache-2.0
"""What a training script tells `train`, which puts this file on the path of its ranks.

    import train_report

    train_report.report({"validation_loss": 0.31}, step=100)
    if train_report.should_stop():
        ...  # save what is to be kept, and leave

Outside of a task both do nothing. Needs nothing but Python 3.
"""

import json
import os

_LONGEST = 16384  # bytes of a report


def _plain(value):
    """A number of numpy, torch or JAX, which json does not know."""
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


def report(metrics, step=None):
    """Appends one report, a mapping of names to values; step: how far the training is.

    Returns whether there was somebody to report to. Raises TypeError where metrics is no mapping or
    has an array of several numbers, ValueError where the report is too long.
    """
    named = dict(metrics)
    if step is not None:
        named["step"] = step
    line = json.dumps(named, default=_plain).encode() + b"\n"
    if len(line) > _LONGEST + 1:
        raise ValueError(f"a report of {len(line)} bytes is longer than {_LONGEST}")
    path = os.environ.get("TRAIN_METRICS_FILE")
    if not path:
        return False
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, line)  # in one piece, so that no other report comes between
    finally:
        os.close(file)
    return True


def should_stop():
    """Whether the ranks are to stop: TRAIN_STOP_FILE is there."""
    path = os.environ.get("TRAIN_STOP_FILE")
    return bool(path) and os.path.exists(path)
