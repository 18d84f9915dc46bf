# test/lib/lane.sh: run tests that need a fresh database each, over one or more servers.
#
# Sourced by levels after tools/lib.sh. A *lane* is one throw-away server that takes
# test after test from a common list.

pg_regress=$("$bin/pg_config" --pkglibdir)/pgxs/src/test
# The levels run unprivileged already.
as_user() { env PATH="$bin:$PATH" "$@"; }
export PATH="$bin:$PATH"
sql() { psql -XqAt -v ON_ERROR_STOP=1 "$@"; }

# fresh_database NAME: a database with the extension and the SQL functions of test builds.
fresh_database() {
	sql -d postgres -c "CREATE DATABASE $1 TEMPLATE template0" &&
		sql -d "$1" -c 'SET client_min_messages = warning' -c 'CREATE EXTENSION stream_engine' \
			-f "$SE_TREE/test/lib/test_support.sql" >/dev/null
}

# Nothing of a test may reach the next: no fault point, no driven clock, no database, no slot.
forget_database() {
	sql -d "$1" -c 'SELECT stream_engine.test_fault_clear(NULL), stream_engine.test_clock_set(NULL)' >/dev/null 2>&1
	local try
	for try in 1 2 3 4 5; do
		sql -d postgres -c "DROP DATABASE IF EXISTS $1 WITH (FORCE)" >/dev/null 2>&1 && break
		sleep 0.2
	done
	sql -d postgres -c "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active" >/dev/null 2>&1
}

# Lines of the server's log that no test may cause: a process died by a signal, or of an assertion.
deaths() { grep -aE 'terminated by signal|PANIC:|TRAP: ' "$work/$1.log" | grep -avE 'fault point|signal 9: Killed' ; }

# autopsy NAME: what a dead process of a server leaves: its stack if there are a core and gdb, and the log before.
autopsy() {
	local core
	for core in "$work/$1"/core*; do
		[ -f "$core" ] && command -v gdb >/dev/null || continue
		gdb -batch -nx -ex bt "$bin/postgres" "$core" 2>/dev/null | grep '^#' | head -40
		rm -f "$core"
	done
	grep -avE 'checkpoint|redo|database system|reinitializing|invalid record length|terminating any other' "$work/$1.log" | tail -25
}

lane_loop() {
	local function=$1 list=$2 name database before output status
	while name=$(flock "$list" sh -c "head -1 '$list'; sed -i 1d '$list'") && [ -n "$name" ]; do
		database=se_$(echo "$name" | tr -c 'a-z0-9\n' _)
		before=$(deaths "$lane" | wc -l)
		local began=$EPOCHREALTIME
		if output=$(fresh_database "$database" 2>&1); then
			output=$(PGDATABASE=$database "$function" "$name" 2>&1); status=$?
		else
			status=1
		fi
		local took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
		local died=
		if [ "$(deaths "$lane" | wc -l)" != "$before" ]; then
			died=yes; status=1; output+=$'\n'$(autopsy "$lane")
		fi
		[ -z "$output" ] || [ $status = 0 ] || printf '%s\n' "$output"
		[ $status = 0 ] && echo "ok - $name ($took ms)" || echo "not ok - $name ($took ms)"
		if [ -n "$died" ]; then
			# The next test shall not suffer from what this one left.
			se_cluster_stop "$lane" immediate
			rm -rf "${work:?}/$lane"
			se_cluster "$lane" || { echo "not ok - server after the crash in $name"; return; }
		else
			forget_database "$database"
		fi
	done
}

# run_lanes N FUNCTION NAME…: FUNCTION runs with PGDATABASE etc. set; status 0 = passed, output explains.
run_lanes() {
	local lanes=$1 function=$2 list i; shift 2
	list=$(mktemp "$work/list.XXXXXX")
	printf '%s\n' "$@" >"$list"
	for ((i = 1; i <= lanes; i++)); do
		(
			lane=lane$$_$i
			se_cluster "$lane" || { echo "not ok - server of lane $i"; exit 1; }
			lane_loop "$function" "$list"
			se_cluster_stop "$lane" || { echo "not ok - fast shutdown of lane $i"; tail -20 "$work/$lane.log"; }
		) &
	done
	wait
}
