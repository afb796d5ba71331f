# SPDX-License-Identifier: Apache-2.0
# Links parts of the command, of the document loader and of the benchmark's harness, which are in no
# library, into their unit tests. The tests of the benchmark bring peers of their own.
unit_test = $(1:%=$(BUILD)/tests/unit/%_test)
objects = $(1:%=$(BUILD)/obj/%.o)

$(call unit_test,crontab): $(call objects,$(addprefix src/,run/cron/crontab run/job/settings \
    run/supervise/times command/job_name command/output/message))
$(call unit_test,documents): $(call objects,$(addprefix examples/documents/,document timestamp \
    generate))
$(call unit_test,documents): TEST_LIBS += $(EXPAT)
$(call unit_test,guard): $(call objects,$(addprefix src/,$(addprefix guard/,children descendants \
    end guard process start_stand_in watch) $(addprefix system/command/,calls processes) \
    command/output/message command/output/standard command/signals))
$(call unit_test,lock_tree): $(call objects,$(addprefix src/show/tree/,lock_tree tree_rows))
$(call unit_test,run_times): $(call objects,src/run/supervise/times)
$(call unit_test,waiting_text): $(call objects,src/run/supervise/waiting_text \
    $(addprefix src/command/output/,words table width message standard))

BENCH_TESTS := bench_numbers bench_run bench_report
$(call unit_test,$(BENCH_TESTS)): $$(BENCH_TESTED)
$(call unit_test,$(BENCH_TESTS)): TEST_LIBS += -ljansson -lm
$(call objects,$(BENCH_TESTS:%=tests/unit/%_test)): TEST_CFLAGS += -Ibench
