#!/usr/bin/env python3
"""Runs a program on a pseudo terminal: terminal.py COLUMNS PROGRAM ARGUMENT...

Standard input goes to the program's terminal, its output to standard output. Ends with the program's exit code."""
import fcntl
import os
import pty
import select
import struct
import sys
import termios

ROWS = 24


def copy(terminal):
    keys = True
    while True:
        ready, _, _ = select.select([terminal, 0] if keys else [terminal], [], [])
        if 0 in ready:
            typed = os.read(0, 65536)
            keys = bool(typed)
            while typed:
                typed = typed[os.write(terminal, typed):]
        if terminal in ready:
            try:
                shown = os.read(terminal, 65536)
            except OSError:  # the program has ended
                return
            if not shown:
                return
            while shown:
                shown = shown[os.write(1, shown):]


child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
copy(terminal)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
