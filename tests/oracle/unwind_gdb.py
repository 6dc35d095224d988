"""For gdb: stops the program it is attached to again and again at moments of chance, and writes down every thread's
registers, stack and backtrace; in the end it kills it. unwind_truth then unwinds the same registers and stack and compares.

Environment: UNWIND_OUT file to append to, UNWIND_STACKS how many, UNWIND_TICK the program that sends a signal after a while.
With UNWIND_CORE (a name) gdb has a core instead, of which only the backtrace is written down.
"""

import bisect
import mmap
import os
import random
import struct
import subprocess

import gdb
import gdb.unwinder

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


class Tables:
    """Which addresses of a process have unwind tables, by .eh_frame_hdr and the entries it leads to (x86_64, pointers as Debian has them)."""

    def __init__(self):
        self.files, self.maps = {}, []

    def read(self, path):
        """Stretches of file addresses with a table, and segments; None: the file cannot be told."""
        with open(path, "rb") as f:
            m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        if m[:5] != b"\x7fELF\x02":
            return None
        phoff, phnum = struct.unpack_from("<Q", m, 32)[0], struct.unpack_from("<H", m, 56)[0]
        loads, hdr = [], None
        for i in range(phnum):
            kind, _, offset, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", m, phoff + 56 * i)
            if kind == 1:
                loads.append((offset, vaddr, filesz))
            elif kind == 0x6474E550:
                hdr = offset, vaddr
        if not hdr:
            return [], loads
        if m[hdr[0]:hdr[0] + 4] != b"\x01\x1b\x03\x3b":
            return None
        nr = struct.unpack_from("<I", m, hdr[0] + 8)[0]
        spans = []
        for start, fde in struct.iter_unpack("<ii", m[hdr[0] + 12:hdr[0] + 12 + 8 * nr]):
            at = fde + hdr[1]
            offset = next(o + at - v for o, v, n in loads if v <= at < v + n)
            spans.append((start + hdr[1], start + hdr[1] + struct.unpack_from("<I", m, offset + 12)[0]))
        return spans, loads

    def update(self, text):
        self.maps = []
        for line in text.splitlines():
            words = line.split(None, 5)
            if "x" in words[1]:
                start, end = (int(x, 16) for x in words[0].split("-"))
                self.maps.append((start, end, int(words[2], 16), words[5] if len(words) > 5 else ""))

    def lacks(self, pc):
        """Whether it is code for which there is no table, for sure."""
        for start, end, offset, path in self.maps:
            if not start <= pc < end:
                continue
            if path.startswith("["):
                return False
            if not path.startswith("/") or path.startswith("/dev/") or path.startswith("/memfd:"):
                return True
            if path not in self.files:
                try:
                    self.files[path] = self.read(path)
                except (OSError, ValueError, StopIteration, struct.error):
                    self.files[path] = None
            if not self.files[path]:
                return False
            spans, loads = self.files[path]
            at = pc - start + offset
            vaddr = next((at - o + v for o, v, n in loads if o <= at < o + n), None)
            if vaddr is None:
                return False
            k = bisect.bisect_right(spans, (vaddr, 1 << 64)) - 1
            return k < 0 or vaddr >= spans[k][1]
        return False


class FramePointers(gdb.unwinder.Unwinder):
    """What gdb cannot know of code that a run-time compiler made (V8's, also what it brings in its own file): it has no tables, and who
    calls there has a frame at rbp. gdb would read instructions from where a symbol begins, and takes those that set the frame up late for
    having none. Only callers are told so: whether the innermost function has its frame already is left to gdb."""

    def __init__(self):
        super().__init__("frame pointers")
        self.tables = Tables()

    def __call__(self, frame):
        if frame.level() == 0:
            return None
        pc, rbp = (int(frame.read_register(r)) & 0xFFFFFFFFFFFFFFFF for r in ("rip", "rbp"))
        if not self.tables.lacks(pc - 1):
            return None
        try:
            saved, back = struct.unpack("<QQ", gdb.selected_inferior().read_memory(rbp, 16).tobytes())
        except gdb.MemoryError:
            return None
        u64 = gdb.lookup_type("unsigned long")
        made = frame.create_unwind_info(FrameId(rbp + 16, pc))
        for register, value in (("rip", back), ("rsp", rbp + 16), ("rbp", saved)):
            made.add_saved_register(register, gdb.Value(value).cast(u64))
        return made


class FrameId:
    def __init__(self, sp, pc):
        u64 = gdb.lookup_type("unsigned long")
        self.sp, self.pc = gdb.Value(sp).cast(u64), gdb.Value(pc).cast(u64)


FRAME_POINTERS = FramePointers()


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
        FRAME_POINTERS.tables.update(maps)
        gdb.invalidate_cached_frames()
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
    if gdb.newest_frame().architecture().name() == "i386:x86-64":
        gdb.unwinder.register_unwinder(None, FRAME_POINTERS, replace=True)
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
