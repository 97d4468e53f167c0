# SPDX-License-Identifier: Apache-2.0
"""Runs a program at a terminal and prints what is seen there.

    screen.py COLUMNS LINES [REGEX ACTION]... -- PROGRAM [ARGUMENT]...

Once nothing comes for a moment and a line of the screen matches REGEX, the next action is done: `show`
(prints the screen, each line behind "| "), `key TEXT`, `touch FILE`, `remove FILE`, `size COLUMNS LINES`,
`wait` (nothing but that), or `echo off` and `echo on`, as those who ask for a password leave the terminal. At the end it prints all lines that
were written and not taken away, those that have scrolled away among them, each behind "= ", and ends as
the program did. Knows what `train` writes: lines, CSI A, H, J, 2J; text as wide as its characters.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios


class Screen:
    def __init__(self, columns, lines):
        self.columns, self.height = columns, lines
        self.lines, self.row, self.column = [""], 0, 0
        self.strange = set()

    def top(self):
        return max(0, len(self.lines) - self.height)

    def shown(self):
        return self.lines[self.top():]

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    def put(self, char):
        if self.column == self.columns:
            self.down()
            self.column = 0
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + char + line[self.column + 1:]
        self.column += 1

    def control(self, parameter, command):
        if command == "A":
            self.row = max(self.top(), self.row - int(parameter or 1))
        elif command == "H" and not parameter:
            self.row, self.column = self.top(), 0
        elif command == "J" and parameter in ("", "2"):
            if parameter:
                self.lines[self.top():] = [""] * len(self.shown())
            else:
                self.lines[self.row] = self.lines[self.row][:self.column]
                del self.lines[self.row + 1:]
        else:
            self.strange.add(parameter + command)

    def write(self, text):
        for parameter, command, char in re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])|([\s\S])", text):
            if command:
                self.control(parameter, command)
            elif char == "\r":
                self.column = 0
            elif char == "\n":
                self.down()
            else:
                self.put(char)


def whole(data):
    """The part of it that ends with no half of a character or of a sequence."""
    end = len(data)
    while end > max(0, len(data) - 12):
        tail = data[:end]
        try:
            text = tail.decode()
        except UnicodeDecodeError:
            end -= 1
            continue
        if not re.search(r"\x1b(\[[0-9;?]*)?$", text):
            return text, data[end:]
        end -= 1
    return "", data


def main(arguments):
    columns, lines = int(arguments[0]), int(arguments[1])
    split = arguments.index("--")
    steps = list(zip(arguments[2:split:2], arguments[3:split:2]))
    signal.alarm(600)  # ends what hangs
    pid, fd = pty.fork()

    def resize(columns, lines):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    if pid == 0:
        signal.alarm(0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.environ.setdefault("TERM", "xterm")
        os.execv(arguments[split + 1], arguments[split + 1:])
    settled = 0.02  # seconds without output
    screen, rest = Screen(columns, lines), b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the terminal has nobody left
            break
        if not piece:
            break
        text, rest = whole(rest + piece)
        screen.write(text)
        if select.select([fd], [], [], settled)[0]:
            continue  # a drawing may not be there as a whole
        while steps and any(re.search(steps[0][0], line) for line in screen.shown()):
            action, *words = steps.pop(0)[1].split(" ", 1)
            if action == "show":
                print("\n".join("| " + line for line in screen.shown()))
            elif action == "key":
                os.write(fd, words[0].encode().decode("unicode_escape").encode())
            elif action == "touch":
                open(words[0], "w").close()
            elif action == "remove":
                os.remove(words[0])
            elif action == "echo":
                how = termios.tcgetattr(fd)
                how[3] = how[3] & ~termios.ECHO | (termios.ECHO if words == ["on"] else 0)
                termios.tcsetattr(fd, termios.TCSANOW, how)
            elif action == "size":
                screen.columns, screen.height = map(int, words[0].split())
                resize(screen.columns, screen.height)
    print("\n".join("= " + line for line in screen.lines))
    for regex, action in steps:
        print("never seen:", regex)
    for sequence in sorted(screen.strange):
        print("strange sequence:", sequence)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main(sys.argv[1:])
