# SPDX-License-Identifier: Apache-2.0
"""Runs a command at a terminal of its own and answers it.

    terminal_session.py [WORDS ANSWER]... -- COMMAND...

Waits for each of the words in turn and types the answer ("^C" is the key; "17s:word" comes after 17
seconds) and Enter. Prints all that the terminal showed, then "echo: on" or "echo: off", the terminal's state after the command's end.
Exits as the command did; 124 when nothing happens for minutes.
"""
import os
import re
import select
import sys
import termios
import time

SILENCE_SECONDS = 600


def main() -> int:
    split = sys.argv.index("--")
    script = sys.argv[1:split]
    turns = list(zip(script[::2], script[1::2]))
    terminal, inside = os.openpty()
    pid = os.fork()
    if pid == 0:
        os.close(terminal)
        os.login_tty(inside)
        os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])
    shown = read = b""
    silence = 0.0
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.1)  # waits: for the end of the command as well
        if ready:
            piece = os.read(terminal, 65536)
            shown += piece
            read += piece
            silence = 0.0
        else:
            silence += 0.1
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            if silence > SILENCE_SECONDS:
                os.kill(pid, 9)
                return 124
        if turns and turns[0][0].encode() in read:
            answer = turns.pop(0)[1]
            read = b""
            delay = re.match(r"(\d+)s:", answer)
            if delay:
                time.sleep(int(delay[1]))  # waits: a person who takes so long
                answer = answer[delay.end() :]
            os.write(terminal, b"\x03" if answer == "^C" else answer.encode() + b"\n")
    has_echo = termios.tcgetattr(inside)[3] & termios.ECHO
    sys.stdout.write(shown.decode(errors="replace").replace("\r", ""))
    print("echo: " + ("on" if has_echo else "off"))
    return os.waitstatus_to_exitcode(status)


sys.exit(main())
