# SPDX-License-Identifier: Apache-2.0
"""Has Python print where it is when `train` asks for it, because nothing has come from a rank.

`train` puts this file on the path of its ranks as sitecustomize.py where a config has
`hang_stacks: true`; so every Python process of a rank imports it at its start. It makes a file
stacks.PID.FD in the folder TRAIN_HANG_STACKS, and has faulthandler write the stacks of all threads
there at a signal. Then it gives way to the sitecustomize module that would have been imported
without it. Does nothing before Python 3.6, and leaves nothing behind that a program would notice.
"""

import os
import sys

_SIGNAL = 61  # `stacks_signal` in backends/inspect/rank_states.hpp, which says why
_LOWEST = 200  # of the descriptor: programs expect that theirs are low


def _prepare(directory):
    import atexit
    import _signal  # without the enums of `signal`, which take longer to make than all of this
    import faulthandler
    import fcntl

    if _signal.getsignal(_SIGNAL) != _signal.SIG_DFL:
        return  # somebody else's
    pid = os.getpid()
    new = os.path.join(directory, "new.%d" % pid)
    flags = os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    file = os.open(new, flags, 0o600)
    try:
        high = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    except OSError:
        high = file  # so many files may not be open
    else:
        os.close(file)
    path = os.path.join(directory, "stacks.%d.%d" % (pid, high))
    os.rename(new, path)
    atexit.register(_forget, path, pid)
    faulthandler.register(_SIGNAL, file=high, all_threads=True, chain=False)


def _forget(path, pid):
    """Removes the file when the process that made it ends; others that it has forked leave it."""
    if os.getpid() == pid:
        try:
            os.unlink(path)
        except OSError:
            pass  # the folder is gone already


def _give_way():
    """Imports the next sitecustomize, which takes the place of this module.

    What it raises is raised here, also the ImportError where there is none: Python's site module
    then does what it does without this file.
    """
    own = os.path.dirname(__file__)
    if own not in sys.path:  # imported later, in an unusual way: it could only find itself
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    index = sys.path.index(own)
    del sys.path[index]
    sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    finally:
        sys.path.insert(index, own)


_directory = os.environ.get("TRAIN_HANG_STACKS")
if _directory:
    try:
        _prepare(_directory)
    except Exception:
        pass  # on purpose, whatever it is: the program must run as it does without this file
_give_way()
