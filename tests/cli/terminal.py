"""Runs a command on a terminal and looks at what the terminal got.

terminal.py run FILE CMD...   runs CMD with a terminal as its standard output and error; all that it wrote goes to FILE, raw
terminal.py safe FILE         prints what in it a terminal would obey, besides colours: nothing, if all is well
terminal.py strict FILE       the same, and colours count too
"""

import os
import pty
import re
import sys

COLOURS = re.compile(rb"\x1b\[(?:|[017]|3[12356])m")


def run(path, command):
    pid, fd = pty.fork()
    if not pid:
        os.execvp(command[0], command)
    data = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        data += piece
    with open(path, "wb") as out:
        out.write(data)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def obeyed(path, colours):
    with open(path, "rb") as file:
        data = file.read()
    if colours:
        data = COLOURS.sub(b"", data)
    data = data.replace(b"\r\n", b"\n")  # the terminal's own
    found = set()
    for char in data.decode("utf-8", "surrogateescape"):
        code = ord(char)
        if (
            (code < 0x20 and char not in "\n\t")
            or 0x7F <= code < 0xA0
            or 0xDC80 <= code <= 0xDCFF
            or char in "\u061c\u200e\u200f\ufeff"
            or 0x2028 <= code <= 0x202E
            or 0x2066 <= code <= 0x2069
        ):
            found.add("%x" % code)
    return " ".join(sorted(found))


if sys.argv[1] == "run":
    sys.exit(run(sys.argv[2], sys.argv[3:]))
print(obeyed(sys.argv[2], sys.argv[1] == "safe"))
