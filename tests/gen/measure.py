#!/usr/bin/env python3
"""Runs a command and says what it cost: measure.py RESULT CMD...

RESULT gets one line: exit status (negative: the signal; "late" after two minutes), seconds of CPU time, peak of memory in MB. CPU time and not
time on the wall, so that a busy machine changes nothing. Memory that a program writes is limited to 4 GB, so that a
fault found here does not hurt the machine; not for a program under AddressSanitizer, which reserves far more.
"""

import resource
import subprocess
import sys

LATE = 120
LIMIT = 4 << 30

program = sys.argv[2]
with open(program, "rb") as f:
    sanitized = b"__asan_init" in f.read()


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


child = subprocess.Popen(sys.argv[2:], preexec_fn=limit)
try:
    status = child.wait(timeout=LATE)
except subprocess.TimeoutExpired:
    child.kill()
    child.wait()
    status = "late"
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as f:
    f.write(f"{status} {used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss // 1024}\n")
