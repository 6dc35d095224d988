# Where trace-cmd 3.1.6 is wrong and we are right. Its text goes through this before it is compared with ours.

# Task states: it has one table for all kernels; the event's own print fmt says what they mean on this one. Since 4.14 0x80 is
# I (idle), not W, and 0x10 and 0x20 have changed places: X is dead, Z a zombie.
/: (\(\+[0-9]+\) +)?sched_switch: .*\] [WXZ] ==> / {
	match($0, /\] [WXZ] ==> /)
	state = substr($0, RSTART + 2, 1)
	right = state == "W" ? "I" : state == "X" ? "Z" : "X"
	$0 = substr($0, 1, RSTART + 1) right substr($0, RSTART + 3)
}

# __print_flags(REC->flags & (M | D | P | I), ...): it reads that as (REC->flags & M) | D | P | I. No timer in these recordings
# has one of them.
/: timer_start: / { sub(/flags=D\|P\|I$/, "flags=") }

# A stack of fewer than eight entries: it prints the bytes behind the record too.
/: kernel_stack: +size=[0-7] caller=ARRAY\[/ {
	match($0, /size=[0-7]/)
	nr = 8 * substr($0, RSTART + 5, 1)
	at = index($0, "ARRAY[") + 6
	$0 = substr($0, 1, at + nr * 4 - 3) "]"
}

{ print }
