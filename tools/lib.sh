# tools/lib.sh: what every command of ours needs: packages, a private PostgreSQL, an unprivileged user, clean-up.
#
# Sourced by bash scripts. Nothing but apt packages and the checkout's tmp/ is left
# behind: servers live in one temporary directory ($work) that se_cleanup removes.
#
# PostgreSQL refuses to run as root. Started by root, everything that needs a server
# runs as $SE_USER (postgres); started by anybody else, as that person.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SE_USER=${SE_USER:-postgres}
unset MAKEFLAGS MAKELEVEL MFLAGS PGHOST PGPORT PGUSER PGDATABASE PGOPTIONS PGSERVICE PGDATA

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# ---------------------------------------------------------------- packages

# The newest PostgreSQL we support that is installed whole, or nothing.
se_find_pg_config() {
	local candidate
	for candidate in ${PG_CONFIG:-} $(ls -d /usr/lib/postgresql/1[5-8]/bin/pg_config 2>/dev/null | sort -rV); do
		[ -x "$candidate" ] && [ -x "$(dirname "$candidate")/postgres" ] &&
			[ -f "$("$candidate" --pgxs)" ] && { echo "$candidate"; return; }
	done
}

# se_packages PURPOSE…: install what is missing for "build", some levels of tests, or "check", all of these.
se_packages() {
	local missing=() version purpose
	command -v make >/dev/null || missing+=(make)
	command -v gcc >/dev/null || missing+=(gcc libc6-dev)
	[ -n "$(se_find_pg_config)" ] || missing+=(postgresql-server)
	for purpose in "$@"; do
		case $purpose in check | tools | random | nexmark | mutants) command -v python3 >/dev/null || missing+=(python3) ;; esac
		case $purpose in check | tools) command -v pg_bsd_indent >/dev/null || missing+=(pg-bsd-indent) ;; esac
		case $purpose in
			check | tap | mutants)
				command -v prove >/dev/null || missing+=(perl)
				perl -MIPC::Run -e 1 2>/dev/null || missing+=(libipc-run-perl) ;;
		esac
		case $purpose in check | valgrind) command -v valgrind >/dev/null || missing+=(valgrind) ;; esac
	done
	if [ ${#missing[@]} -gt 0 ]; then
		if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
			die "missing: ${missing[*]}; run this once as root, or install them (for PostgreSQL: postgresql-15 and postgresql-server-dev-15, or another of 15 to 18)"
		fi
		say "installing: ${missing[*]}"
		apt-get update -qq >/dev/null || say "apt-get update failed; trying with the lists that are there"
		if [[ " ${missing[*]} " == *" postgresql-server "* ]]; then
			version=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -1)
			missing=("${missing[@]/postgresql-server/postgresql-${version:-15}}" "postgresql-server-dev-${version:-15}")
		fi
		se_apt_install "${missing[@]}"
	fi
	system_pg_config=$(se_find_pg_config)
	[ -n "$system_pg_config" ] || die "no PostgreSQL 15 to 18 with server headers found"
	if [ "$(id -u)" = 0 ]; then id "$SE_USER" >/dev/null 2>&1 || die "no user $SE_USER to run the server as"; fi
}

# Installing Debian's server package makes a cluster and starts it; we do not want one.
se_apt_install() {
	local no_cluster=/etc/postgresql-common/createcluster.d/zz_stream_engine.conf status=0 output
	mkdir -p "$(dirname "$no_cluster")"
	echo 'create_main_cluster = false' >"$no_cluster"
	output=$(DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" 2>&1) || status=$?
	rm -f "$no_cluster"
	[ $status = 0 ] || { say "$output"; die "apt-get install $* failed"; }
}

# se_unpack PACKAGE: its files, and those of what it needs and is not here, in tmp/PACKAGE. Nothing is installed and no
# service is started. Status 1, silently, if it cannot be had.
se_unpack() {
	local into=$top/tmp/$1 needed
	[ ! -d "$into" ] || return 0
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	rm -rf "$into.partial"
	mkdir -p "$into.partial"
	(
		cd "$into.partial" || exit 1
		apt-get install -s --no-install-recommends "$1" >plan || { apt-get update -qq && apt-get install -s --no-install-recommends "$1" >plan; } || exit 1
		needed=$(sed -n 's/^Inst \([^ ]*\) .*/\1/p' plan)
		[ -n "$needed" ] && apt-get download -qq $needed || exit 1
		for package in *.deb; do dpkg-deb -x "$package" . || exit 1; done
		rm -f plan *.deb
	) >/dev/null 2>&1 </dev/null && mv "$into.partial" "$into"
}

# ---------------------------------------------------------------- build

# se_private_copy PREFIX: a PostgreSQL of our own, so that installing touches no system folder. Sets $bin.
# Debian keeps share and include files apart from the rest; anybody else's installation is one folder.
se_private_copy() {
	local prefix=$1 from major
	from=$(realpath "$(dirname "$(dirname "$system_pg_config")")")
	major=$("$system_pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
	bin=$prefix/usr/lib/postgresql/$major/bin
	[ -x "$bin/postgres" ] && [ ! "$from/bin/postgres" -nt "$bin/postgres" ] && return
	rm -rf "$prefix"
	mkdir -p "$prefix/usr/lib/postgresql" "$prefix/usr/share/postgresql" "$prefix/usr/include"
	cp -a "$from" "$prefix/usr/lib/postgresql/$major"
	[[ $(realpath "$("$system_pg_config" --sharedir)") != "$from"/* ]] || return 0
	cp -a "$("$system_pg_config" --sharedir)" "$prefix/usr/share/postgresql/"
	ln -sfn "$(dirname "$(dirname "$("$system_pg_config" --includedir-server)")")" "$prefix/usr/include/postgresql"
}

# Developer build of this checkout, installed into tmp/pg.
se_build() {
	se_private_copy "$top/tmp/pg"
	make -s -j2 -C "$top" PG_CONFIG="$bin/pg_config" all
	make -s -C "$top" PG_CONFIG="$bin/pg_config" install >/dev/null
}

# Release build in a copy of the sources, so that the two builds share no object. Installed into tmp/release/pg.
se_build_release() {
	local copy=$top/tmp/release/source
	se_private_copy "$top/tmp/release/pg"
	mkdir -p "$copy"
	(cd "$top" && tar -cf - --exclude='*.o' --exclude='*.d' --exclude='*.so' --exclude='*.bc' \
		src Makefile stream_engine.control stream_engine--1.0.sql test/check.mk) | tar -xf - -C "$copy"
	make -s -j2 -C "$copy" PG_CONFIG="$bin/pg_config" RELEASE=1 with_llvm=no all
	make -s -C "$copy" PG_CONFIG="$bin/pg_config" RELEASE=1 with_llvm=no install >/dev/null
}

# ---------------------------------------------------------------- servers

# A command as the unprivileged user, with the private PostgreSQL first in PATH.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$SE_USER" --regid="$(id -gn "$SE_USER")" --init-groups \
			env PATH="$bin:$PATH" HOME="${work:-/tmp}" PYTHONDONTWRITEBYTECODE=1 "$@"
	else
		env PATH="$bin:$PATH" PYTHONDONTWRITEBYTECODE=1 "$@"
	fi
}

# se_work: make $work, with the PostgreSQL of $bin in it where the user can read it, and se_cleanup on every way out.
se_work() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/stream_engine.XXXXXX")
	trap se_cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	local from=${bin%/usr/lib/postgresql/*}
	cp -a "$from" "$work/pg"
	bin=$work/pg${bin#"$from"}
	if [ "$(id -u)" = 0 ]; then chown "$SE_USER" "$work"; fi
	# The checkout may be where that user cannot look.
	cd "$work"
}

# children_of PID: the processes it started, from the process table.
children_of() { awk -v parent="$1" '{ pid = $1; sub(/^.*\) . /, ""); if ($1 == parent) print pid }' /proc/[0-9]*/stat 2>/dev/null; }

# Stop everything that runs in $work and remove it.
se_cleanup() {
	local status=$? pidfile pid i
	trap '' INT TERM HUP
	[ -n "${work:-}" ] && [ -d "$work" ] || return $status
	kill $(jobs -p) 2>/dev/null || true
	[ -z "${level_pid:-}" ] || kill -TERM -- "-$level_pid" 2>/dev/null || true
	for pidfile in $(find "$work" -name postmaster.pid 2>/dev/null); do
		pid=$(head -1 "$pidfile")
		kill -QUIT "$pid" 2>/dev/null || continue
		for ((i = 0; i < 100; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
		kill -KILL "$pid" 2>/dev/null || true
	done
	rm -rf "$work" 2>/dev/null || { sleep 1; rm -rf "$work"; }
	return $status
}

# One data directory, made once, is what all servers begin with.
se_initdb() {
	[ -d "$work/initdb" ] ||
		as_user initdb -D "$work/initdb" -U postgres -A trust -N --locale=C.UTF-8 --encoding=UTF8 >/dev/null
}

# se_cluster NAME [conf lines…]: a new server in $work/NAME; sets PGHOST, PGPORT, PGUSER. Its socket
# lives in its own directory and it listens on no address, so any port number is free.
se_cluster() {
	local name=$1; shift
	se_initdb
	cp -a "$work/initdb" "$work/$name"
	{
		cat "${SE_TREE:-$top}/test/stream_engine.conf"
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$work/$name'"
		printf '%s\n' "$@"
	} >>"$work/$name/postgresql.conf"
	export PGHOST=$work/$name PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	se_cluster_start "$name"
}
se_cluster_start() {
	as_user pg_ctl -D "$work/$1" -c -w -s -t 60 -l "$work/$1.log" start || { tail -20 "$work/$1.log" >&2; return 1; }
}
se_cluster_stop() { as_user pg_ctl -D "$work/$1" -w -s -m "${2:-fast}" stop; }
