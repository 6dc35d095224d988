"""Loads a BPF program that calls bpf_trace_printk() with a text and a number, and runs it once: trace_printk.py TEXT NUMBER (x86-64)."""
import ctypes
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
text = sys.argv[1].encode().ljust(24, b"\0")


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, dst | src << 4, off, imm)


code = b""
for i in range(3):
    low, high = struct.unpack_from("<ii", text, i * 8)
    code += insn(0x18, 1, imm=low) + struct.pack("<BBhi", 0, 0, 0, high)  # r1 = the next eight bytes
    code += insn(0x7b, 10, 1, -24 + i * 8)
code += insn(0xbf, 1, 10) + insn(0x07, 1, imm=-24) + insn(0xb7, 2, imm=24) + insn(0xb7, 3, imm=int(sys.argv[2]))
code += insn(0x85, imm=6) + insn(0xb7, 0) + insn(0x95)
insns = ctypes.create_string_buffer(code)
name = ctypes.create_string_buffer(b"GPL")


def bpf(cmd, attr):
    buf = ctypes.create_string_buffer(attr.ljust(120, b"\0"))
    rc = libc.syscall(321, cmd, buf, 120)
    if rc < 0:
        sys.exit(f"bpf({cmd}): errno {ctypes.get_errno()}")
    return rc


fd = bpf(5, struct.pack("<IIQQIIQ", 1, len(code) // 8, ctypes.addressof(insns), ctypes.addressof(name), 0, 0, 0))
data = ctypes.create_string_buffer(64)
bpf(10, struct.pack("<IIIIQQII", fd, 0, 64, 0, ctypes.addressof(data), 0, 1, 0))
