/* Where the data of an access to memory came from (PERF_SAMPLE_DATA_SRC): its parts as perf names them. */
#pragma once

#include "base/strbuf.h"

/* Each adds a few words: "LOAD", "L1 hit", "HitM", "L2 miss", "No", " N/A". */
void data_src_level(u64 src, struct strbuf *to);
void data_src_snoop(u64 src, struct strbuf *to);
void data_src_tlb(u64 src, struct strbuf *to);
void data_src_lock(u64 src, struct strbuf *to);
void data_src_blocked(u64 src, struct strbuf *to);
/* Of a page: "4K", "N/A" for 0. As perf does: the next unit from two of it on, so that 1 GB is "1024M". */
void data_src_page(u64 bytes, struct strbuf *to);
/* All of them: "|OP LOAD|LVL L1 hit|SNP None|TLB L1 hit|LCK No|BLK  N/A". */
void data_src_all(u64 src, struct strbuf *to);
