# Makefile: build stream_engine with PGXS, and run everything that checks it.
#
#   make                developer build: Asserts, fault points, warnings are errors
#   make RELEASE=1      what an administrator installs: no Asserts, no fault points
#   make demo           a private server, a live stream, a live result
#   make check          every test; see test/README.md
#
# A developer build and a release build never share objects: the flags in use are
# kept in tmp/build-flags, and a change of flags rebuilds everything.

# Targets that only call scripts know nothing of PGXS (which has a check target of its own).
include test/check.mk
ifndef SCRIPTS_ONLY

EXTENSION = stream_engine
MODULE_big = stream_engine
DATA = stream_engine--1.0.sql
SOURCES = $(sort $(wildcard src/*.c src/*/*.c))
OBJS = $(SOURCES:.c=.o)

PG_CONFIG ?= pg_config
PG_CPPFLAGS = -I$(CURDIR)/src
SE_FLAGS = -fvisibility=hidden -MMD -MP -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
ifdef RELEASE
SE_FLAGS += -O2
else
SE_FLAGS += -DUSE_ASSERT_CHECKING=1 -DSE_TEST_BUILD=1
# The clang pass that makes bitcode for JIT doubles the build; releases keep it.
override with_llvm = no
endif
PG_CFLAGS = $(SE_FLAGS)

EXTRA_CLEAN = $(SOURCES:.c=.d) tmp/build-flags

PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifneq ($(PGXS),)
include $(PGXS)
else
all install:
	@echo "$(PG_CONFIG) not found: install postgresql-server-dev-15 (or another of 15 to 18), or set PG_CONFIG"; exit 1
endif

-include $(OBJS:.o=.d)

# Flags that differ from the last build make every object old. (Makefile.global's
# .SECONDARY would let a FORCE that is not phony pass as up to date.)
$(OBJS): tmp/build-flags
.PHONY: FORCE
tmp/build-flags: FORCE
	@mkdir -p tmp; echo '$(SE_FLAGS) $(PG_CONFIG)' | cmp -s - $@ || echo '$(SE_FLAGS) $(PG_CONFIG)' > $@
FORCE:

endif
