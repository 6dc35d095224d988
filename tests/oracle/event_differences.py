# What differs from perf 6.1 and why: (root, verb or "*", spec): reason.
UNORDERED |= {('intel-server', s) for s in ('uncore_imc/clockticks/', 'imc/cas_count_write/', 'cas_count_read',
                                            'cha/event=1,filter_tid=7/')}
DIFFERENT.update({
    ('', '*', '*:sched_switch'): 'perf 6.1 gives up at the first system without a match',
    ('', '*', '{cycles:ukh,faults}:k'): "perf forgets the member's own u and h when all three letters are written",
    ('intel-server', '*', 'cpu/mem-loads,ldlat=30/pp'): 'the term replaces the default 3 of the alias; perf 6.1 ORs them into 31',
    ('intel-hybrid', '*', 'cpu_core/cycles/'): "the PMU's own encoding (event=0x3c) instead of the generic event: the same count",
    ('intel-server', '*', 'cpu/cycles/'): "the generic name's other spelling is found among the PMU's events (cpu-cycles); perf 6.1 refuses",
    ('amd', '*', 'cpu/cycles/u'): "the same: cycles is the PMU's cpu-cycles",
    ('intel-server', '*', 'uncore_imc_*/clockticks/'): 'perf 6.1 refuses a glob that ends in a star and a slash; newer perf takes it',
    ('arm64-biglittle', '*', 'armv8_*/l1d_cache/'): 'the same: a glob for PMUs',
    ('intel-hybrid', '*', '{cpu_core/cycles/,cpu_core/instructions/}'): "the PMU's own encoding of cycles: the same count",
    ('intel-hybrid', '*', 'cpu/event=0x3c/'): 'cpu means all cores where no PMU is called cpu; perf 6.1 refuses',
    ('intel-hybrid', '*', '{cycles,instructions}'): 'one group for each kind of core; perf 6.1 dissolves the group',
    ('intel-hybrid', '*', '{cycles:u,faults}'): 'the same: grouped with the first kind of core; perf 6.1 dissolves the group',
    ('arm64-biglittle', '*', 'cycles'): 'one event for each kind of core, as perf does since 6.5; 6.1 counts on one kind only',
    ('arm64-biglittle', '*', 'r11'): 'the same for raw events',
    ('arm64-biglittle', '*', 'L1-dcache-loads'): 'the same for cache events',
})
