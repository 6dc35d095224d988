# A thin front for Meson: each target installs what it needs, builds, and runs. `make help` lists them.
BUILD ?= build
KERNEL ?= 6.12
PREFIX ?= /usr/local
MESON_ARGS ?=

# `make vm SHELL=1` asks for a shell in the guest, but SHELL is also make's own variable.
ifeq ($(SHELL),1)
override SHELL := /bin/sh
GUEST_SHELL := 1
endif
VM_BUILD = $(BUILD)$(if $(filter arm64,$(KERNEL)),-arm64)

.PHONY: all help demo check quick vm bench fuzz flake mutants tsan unwind-truth install clean format

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

help:
	@echo "make            build $(BUILD)/sonde"
	@echo "make demo       build, record the built-in workload, show its report"
	@echo "make quick      unit, golden and command-line tests (under a minute)"
	@echo "make check      everything: both compilers, sanitizers, live kernel, QEMU guests"
	@echo "make vm         live tests in one guest: KERNEL=6.1|6.12|rt|arm64, SHELL=1 for a shell in it"
	@echo "make bench      side by side with perf and trace-cmd"
	@echo "make unwind-truth  stacks of some 40 stopped programs against gdb's backtraces: STACKS=300 each"
	@echo "make fuzz       fuzz every parser for a while: FUZZ_SECONDS=60"
	@echo "make tsan       threaded paths under ThreadSanitizer (doc/tsan.md)"
	@echo "make flake      live tests of this host again and again beside a load, with failure rates: N=20 LOAD=8"
	@echo "make mutants    seeded faults, one at a time: does a test notice each? MUTANTS='wire-*' ROUNDS=3"
	@echo "make install    PREFIX=/usr/local DESTDIR="

$(BUILD)/build.ninja:
	@tools/deps build
	@meson setup $(BUILD) --prefix=$(PREFIX) $(MESON_ARGS) >/dev/null

demo: all
	@tools/demo $(BUILD)/sonde

quick: all
	@tools/deps check
	@tests/run --build $(BUILD) --suite unit,golden,cli

check:
	@tools/deps check
	@tools/check $(BUILD)

vm: all
	@tools/deps vm
	@if [ "$(KERNEL)" = arm64 ]; then tests/vm/cross $(BUILD)-arm64 || [ $$? = 77 ]; fi
ifdef GUEST_SHELL
	@tests/vm/boot $(KERNEL) --build $(VM_BUILD) --shell
else
	@tests/run --build $(BUILD) --suite vm --guest $(KERNEL)
endif

bench: all
	@tools/deps bench
	@bench/run --build $(BUILD)

fuzz:
	@tools/deps check
	@fuzz/run

STACKS ?= 300
unwind-truth: all
	@tools/deps check
	@SONDE=$(abspath $(BUILD))/sonde UNWIND_LONG=1 UNWIND_STACKS=$(STACKS) bash tests/live/unwind_truth.t

N ?= 20
LOAD ?= 8
flake: all
	@tools/deps check
	@LOAD=$(LOAD) tools/flake $(BUILD) $(N)

MUTANTS ?=
ROUNDS ?= 3
mutants:
	@tools/deps check
	@tools/mutants --rounds $(ROUNDS) $(foreach m,$(MUTANTS),'$(m)')

# The programs that tools/tsan runs, and no others.
TSAN_TESTS = base_test_base base_test_foreign base_test_guard file_test_perfdata_write stream_test_live_perf \
	stream_test_write_queue sym_test_resolve
tsan:
	@tools/deps build
	@[ -e $(BUILD)-tsan/build.ninja ] || meson setup $(BUILD)-tsan -Doptimization=1 -Ddebug=false -Dc_args=-g1 -Db_sanitize=thread -Db_lundef=false >/dev/null
	@ninja -C $(BUILD)-tsan sonde $(addprefix tests/,$(TSAN_TESTS))
	@tools/tsan $(BUILD)-tsan

install: all
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf $(BUILD) $(BUILD)-*
