/*
 * Events that we print differently from libtraceevent 1.7.1, on purpose. Each group says why ours is right. An event is here
 * when at least one of the made-up payloads of test_print_oracle.c shows the difference; most agree on what real kernels record.
 */
static const struct differs {
	const char *reason;
	const char *events; /* "system:event" and blanks */
	bool text, fields; /* what differs: the print fmt, the form by field */
	bool plugins; /* only with trace-cmd's plug-ins */
	bool sometimes; /* not in every run */
} differs[] = {
	{ "it refuses to parse the text and prints by field; we print it",
	  "cxl:cxl_dram cxl:cxl_general_media cxl:cxl_generic_event cxl:cxl_memory_module "
	  "dma:dma_alloc_sgt "
	  "dma:dma_free_sgt dma:dma_map_sg dma:dma_map_sg_err dma:dma_sync_sg_for_cpu "
	  "dma:dma_sync_sg_for_device "
	  "dma:dma_unmap_sg kmem:mm_page_alloc kmem:mm_page_alloc_extfrag "
	  "kmem:mm_page_alloc_zone_locked "
	  "kmem:mm_page_free kmem:mm_page_free_batched kmem:mm_page_pcpu_drain "
	  "kvm:kvm_inj_exception "
	  "kvm:kvm_sys_access maple_tree:ma_op maple_tree:ma_read maple_tree:ma_write ras:mc_event "
	  "vmscan:mm_vmscan_write_folio xen:xen_mc_entry xen:xen_mc_extend_args",
	  .text = true, .fields = true },
	{ "it zero-extends signed fields: a negative value prints, compares and divides as a large "
	  "positive one",
	  "ext4:ext4_es_lookup_extent_exit ext4:ext4_writepages ftrace:branch i2c:i2c_result "
	  "jbd2:jbd2_commit_flushing jbd2:jbd2_commit_locking jbd2:jbd2_commit_logging "
	  "jbd2:jbd2_drop_transaction "
	  "jbd2:jbd2_end_commit jbd2:jbd2_start_commit kvm:kvm_pvclock_update "
	  "kvm:kvm_userspace_exit "
	  "kvm:kvm_wait_lapic_expire kvmmmu:kvm_mmu_set_spte smbus:smbus_result "
	  "sock:sock_recv_length "
	  "sock:sock_send_length timer:itimer_state",
	  .text = true, .fields = true },
	{ "a row for a negative value never matches a field of 4 bytes: it zero-extends the field",
	  "rpm:rpm_status xfs:xfs_bmap_defer xfs:xfs_bmap_deferred xfs:xfs_btree_commit_ifakeroot "
	  "xfs:xfs_iomap_alloc xfs:xfs_iomap_found xfs:xfs_map_blocks_alloc "
	  "xfs:xfs_map_blocks_found "
	  "xfs:xfs_rmap_defer xfs:xfs_rmap_deferred",
	  .text = true },
	{ "names that the kernel left in a table or a comparison: it takes them for -1 or 0 and "
	  "prints what was not recorded",
	  "btrfs:add_delayed_data_ref btrfs:add_delayed_tree_ref btrfs:btrfs_clear_extent_bit "
	  "btrfs:btrfs_convert_extent_bit btrfs:btrfs_extent_map_shrinker_remove_em "
	  "btrfs:btrfs_get_extent "
	  "btrfs:btrfs_ordered_extent_add btrfs:btrfs_ordered_extent_dec_test_pending "
	  "btrfs:btrfs_ordered_extent_lookup btrfs:btrfs_ordered_extent_lookup_first "
	  "btrfs:btrfs_ordered_extent_lookup_first_range "
	  "btrfs:btrfs_ordered_extent_lookup_for_logging "
	  "btrfs:btrfs_ordered_extent_lookup_range btrfs:btrfs_ordered_extent_mark_finished "
	  "btrfs:btrfs_ordered_extent_put btrfs:btrfs_ordered_extent_remove "
	  "btrfs:btrfs_ordered_extent_split "
	  "btrfs:btrfs_ordered_extent_start btrfs:btrfs_qgroup_release_data "
	  "btrfs:btrfs_qgroup_reserve_data "
	  "btrfs:btrfs_set_extent_bit btrfs:run_delayed_data_ref btrfs:run_delayed_tree_ref "
	  "fs_dax:dax_insert_pfn_mkwrite fs_dax:dax_insert_pfn_mkwrite_no_entry "
	  "fs_dax:dax_load_hole "
	  "fs_dax:dax_pmd_fault fs_dax:dax_pmd_fault_done fs_dax:dax_pte_fault "
	  "fs_dax:dax_pte_fault_done "
	  "kvm:kvm_apicv_inhibit_changed vmscan:mm_vmscan_throttled "
	  "writeback:sb_clear_inode_writeback "
	  "writeback:sb_mark_inode_writeback writeback:writeback_dirty_inode "
	  "writeback:writeback_dirty_inode_enqueue writeback:writeback_dirty_inode_start "
	  "writeback:writeback_lazytime writeback:writeback_lazytime_iput "
	  "writeback:writeback_mark_inode_dirty "
	  "xen:xen_mc_batch xen:xen_mc_flush_reason xen:xen_mc_issue",
	  .text = true },
	{ "a row written as -6ULL: it takes it for -1",
	  "btrfs:btrfs_chunk_alloc btrfs:btrfs_chunk_free btrfs:btrfs_cow_block "
	  "btrfs:btrfs_extent_map_shrinker_scan_enter btrfs:btrfs_extent_map_shrinker_scan_exit "
	  "btrfs:btrfs_find_free_extent btrfs:btrfs_find_free_extent_have_block_group "
	  "btrfs:btrfs_find_free_extent_search_loop btrfs:btrfs_finish_ordered_extent "
	  "btrfs:btrfs_get_extent_show_fi_inline btrfs:btrfs_get_extent_show_fi_regular "
	  "btrfs:btrfs_inode_evict "
	  "btrfs:btrfs_inode_mod_outstanding_extents btrfs:btrfs_inode_new "
	  "btrfs:btrfs_inode_request "
	  "btrfs:btrfs_qgroup_meta_convert btrfs:btrfs_qgroup_meta_free_all_pertrans "
	  "btrfs:btrfs_qgroup_meta_reserve btrfs:btrfs_sync_file btrfs:btrfs_transaction_commit "
	  "btrfs:btrfs_truncate_show_fi_inline btrfs:btrfs_truncate_show_fi_regular "
	  "btrfs:btrfs_writepage_end_io_hook btrfs:extent_writepage",
	  .text = true },
	{ "a flag in bit 63: it prints its name when no flag is set",
	  "fs_dax:dax_pmd_insert_mapping xfs:xfs_exchmaps_defer xfs:xfs_exchmaps_final_estimate "
	  "xfs:xfs_exchmaps_initial_estimate xfs:xfs_exchmaps_recover xfs:xfs_exchrange_flush "
	  "xfs:xfs_exchrange_mappings xfs:xfs_exchrange_prep",
	  .text = true },
	{ "a & (b | c): it computes (a & b) | c", "spi:spi_setup timer:timer_start", .text = true },
	{ "a - b + 1: it computes a - (b + 1)", "btrfs:raid56_write", .text = true },
	{ "a ? b : c ? d : e: it computes (a ? b : c) ? d : e",
	  "kvm:kvm_irq_line kvm:kvm_nested_vmenter ras:aer_event", .text = true },
	{ "a shift by more than the width of its type has no right answer; it shifts 64-bit "
	  "numbers",
	  "alarmtimer:alarmtimer_cancel alarmtimer:alarmtimer_fired alarmtimer:alarmtimer_start "
	  "alarmtimer:alarmtimer_suspend compaction:mm_compaction_defer_compaction "
	  "compaction:mm_compaction_defer_reset compaction:mm_compaction_deferred "
	  "ext4:ext4_mballoc_alloc",
	  .text = true },
	{ "it has no %c and prints \">c<\"",
	  "kvm:kvm_wfx_arm64 tcp:tcp_ao_handshake_failure tcp:tcp_ao_key_not_found "
	  "tcp:tcp_ao_mismatch "
	  "tcp:tcp_ao_rnext_request tcp:tcp_ao_wrong_maclen tcp:tcp_hash_ao_required "
	  "tcp:tcp_hash_bad_header "
	  "tcp:tcp_hash_md5_mismatch tcp:tcp_hash_md5_required tcp:tcp_hash_md5_unexpected",
	  .text = true, .fields = true },
	{ "it has no %*pbl, and %*ph only for fixed arrays",
	  "sched:sched_skip_cpuset_numa smbus:smbus_reply smbus:smbus_write", .text = true },
	{ "it forgets the width of %-8s when a table has no name for the value, or the text is "
	  "only an address",
	  "compaction:mm_compaction_finished compaction:mm_compaction_kcompactd_wake "
	  "compaction:mm_compaction_suitable compaction:mm_compaction_wakeup_kcompactd "
	  "dev:devres_log "
	  "oom:reclaim_retry_zone osnoise:softirq_noise",
	  .text = true, .fields = true },
	{ "the age needs the kernel's jiffies, which nobody recorded: we print \"?\", it prints a "
	  "number",
	  "writeback:writeback_sb_inodes_requeue writeback:writeback_single_inode "
	  "writeback:writeback_single_inode_start",
	  .text = true },
	{ "it divides by zero and dies",
	  "devfreq:devfreq_frequency devfreq:devfreq_monitor "
	  "thermal:thermal_power_devfreq_get_power",
	  .text = true, .fields = true },
	{ "by field: it shows nothing of an array that runs to the end of the record, and of a "
	  "dynamic cpumask only where it lies",
	  "ftrace:bprint ftrace:funcgraph_entry ftrace:function ipi:ipi_send_cpumask",
	  .fields = true },
	{ "by field: an array of bytes without a NUL prints on into the next fields",
	  "fib:fib_table_lookup icmp:icmp_send neigh:neigh_create neigh:neigh_update_done "
	  "sock:inet_sk_error_report "
	  "tcp:tcp_cong_state_set tcp:tcp_destroy_sock tcp:tcp_receive_reset "
	  "tcp:tcp_retransmit_synack "
	  "tcp:tcp_send_reset",
	  .fields = true },
	{ "the plug-in's letters for task states aged: on these kernels bit 4 is X, 5 Z, 6 P, 7 I, "
	  "as the event's own text says",
	  "sched:sched_switch", .text = true, .plugins = true },
	{ "the plug-in cuts the offset into the function to 32 bits",
	  "kmem:kfree kmem:kmalloc kmem:kmem_cache_alloc kmem:kmem_cache_free", .text = true,
	  .plugins = true },
	{ "the plug-in subtracts the wrong way round: behind the slash stands start - address",
	  "timer:hrtimer_expire_entry timer:hrtimer_start", .text = true, .plugins = true },
	{ "the plug-in has its own, older list of exit reasons; ours are those of the event's own "
	  "text",
	  "kvm:kvm_exit kvm:kvm_nested_vmexit_inject", .text = true, .plugins = true },
	{ "the plug-in looks for a field that the event lost, says so, and goes on with the print "
	  "fmt",
	  "kvm:kvm_entry kvm:kvm_nested_vmexit", .text = true, .plugins = true },
	{ "the plug-in prints a time from the record's own time stamp, which a print program does "
	  "not see; ours is the print fmt",
	  "ftrace:func_repeats", .text = true, .plugins = true },
	{ "the plug-in shows the bytes of the event before when there are none",
	  "kvm:kvm_emulate_insn", .text = true, .plugins = true, .sometimes = true },
};
