"""For gdb: stops the program it is attached to again and again at moments of chance, and writes down every thread's
registers, stack and backtrace; in the end it kills it. unwind_truth then unwinds the same registers and stack and compares.

Environment: UNWIND_OUT file to append to, UNWIND_STACKS how many, UNWIND_TICK the program that sends a signal after a while.
With UNWIND_CORE (a name) gdb has a core instead, of which only the backtrace is written down.
"""

import os
import random
import subprocess

import gdb

OUT = open(os.environ["UNWIND_OUT"], "a")
WANTED = int(os.environ.get("UNWIND_STACKS", "0"))
TICK = os.environ.get("UNWIND_TICK")
CORE = os.environ.get("UNWIND_CORE")
FRAMES_MAX = 256
COPY_MAX = 256 << 10
REGS = {
    "i386:x86-64": "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split(),
    "aarch64": ["x%d" % i for i in range(31)] + ["sp", "pc"],
}
SP = {"i386:x86-64": "rsp", "aarch64": "sp"}


def stack_end(maps, sp):
    for line in maps.splitlines():
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if start <= sp < end:
            return end
    return sp


def frames():
    """(pc, type) of each frame that is on the stack: not those that debug information adds (inlined, tail calls), and why there are no more."""
    frame, got, why = gdb.newest_frame(), [], ""
    while frame is not None and len(got) < FRAMES_MAX:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            got.append("%x:%d" % (frame.pc() & 0xFFFFFFFFFFFF, frame.type()))
        why = gdb.frame_stop_reason_string(frame.unwind_stop_reason()).replace(" ", "_")
        try:
            frame = frame.older()
        except gdb.error as e:
            why = str(e).replace(" ", "_")
            break
    if len(got) == FRAMES_MAX:
        why = "enough"
    return got, why


def dump(last_maps):
    inferior = gdb.selected_inferior()
    with open("/proc/%d/maps" % inferior.pid) as f:
        maps = f.read()
    if maps != last_maps:
        OUT.write("maps\n%s.\n" % maps)
    nr = 0
    for thread in inferior.threads():
        thread.switch()
        frame = gdb.newest_frame()
        arch = frame.architecture().name()
        regs = [int(frame.read_register(r)) & 0xFFFFFFFFFFFFFFFF for r in REGS[arch]]
        sp = int(frame.read_register(SP[arch])) & 0xFFFFFFFFFFFFFFFF
        size = min(stack_end(maps, sp) - sp, COPY_MAX)
        memory = bytes(inferior.read_memory(sp, size)) if size else b""
        OUT.write("regs %s\nstack %s\n" % (" ".join("%x" % r for r in regs), memory.hex()))
        pcs, why = frames()
        OUT.write("gdb %s %s\n" % (why or "end", " ".join(pcs)))
        nr += 1
    return maps, nr


def run():
    for command in (
        "set pagination off", "set confirm off", "set debuginfod enabled off", "set backtrace past-main on",
        "set backtrace past-entry on", "set backtrace limit unlimited", "set print thread-events off",
        "handle all nostop noprint pass", "handle SIGPROF stop print nopass",
        "set follow-fork-mode parent", "set detach-on-fork on",
    ):
        gdb.execute(command, to_string=True)
    if CORE:
        pcs, why = frames()
        OUT.write("%s %s %s\n" % (CORE, why or "end", " ".join(pcs)))
        return
    pid = gdb.selected_inferior().pid
    if not pid:
        return  # it had ended
    tick = subprocess.Popen([TICK, "tick", str(pid)], stdin=subprocess.PIPE)
    got, maps = 0, None
    while got < WANTED:
        tick.stdin.write(b"%d\n" % random.randrange(3000))
        tick.stdin.flush()
        gdb.execute("continue", to_string=True)
        if not gdb.selected_inferior().pid:
            break  # it ended
        maps, nr = dump(maps)
        got += nr
    tick.stdin.close()
    tick.wait()
    if gdb.selected_inferior().pid:
        gdb.execute("kill", to_string=True)


run()
