# test/check.mk: the check targets; test/README.md says what each shows.

.DEFAULT_GOAL = all
SCRIPTED = check check-tools tools-check check-unit check-regress check-isolation check-tap check-nexmark \
	check-random check-mutants check-valgrind check-versions indent demo bench

# Any other goal means PGXS, whose own check target would clash with ours.
ifeq ($(filter-out $(SCRIPTED),$(or $(MAKECMDGOALS),all)),)
SCRIPTS_ONLY = yes
.PHONY: $(SCRIPTED)

check:
	@test/run
check-tools tools-check:
	@test/run tools
check-unit:
	@test/run unit
check-regress:
	@TESTS="$(TESTS)" ACCEPT="$(ACCEPT)" test/run regress
check-isolation:
	@TESTS="$(TESTS)" ACCEPT="$(ACCEPT)" test/run isolation
check-tap:
	@TESTS="$(TESTS)" test/run tap
check-nexmark:
	@TESTS="$(TESTS)" SEED="$(SEED)" test/run nexmark
check-random:
	@N="$(N)" SEED="$(SEED)" ROUND="$(ROUND)" test/run random
check-mutants:
	@TESTS="$(TESTS)" test/run mutants
check-valgrind:
	@test/run valgrind
check-versions:
	@VERSIONS="$(VERSIONS)" LEVELS="$(LEVELS)" TESTS="$(TESTS)" BUDGET="$(BUDGET)" test/versions
indent:
	@tools/indent
demo:
	@tools/demo
bench:
	@test/bench/run $(TESTS)


endif
