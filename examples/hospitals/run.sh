#!/bin/sh
# Four hospitals train one model on this machine: four keys, four policies, four ledgers, one roster that all sign, and four
# nodes that talk over loopback. It ends with what each hospital has: alone, shared, and its own model around the shared one, whether
# joining was worth it, and its epsilon.
#
#   examples/hospitals/run.sh [--chaos] [DIR]
#
# --chaos trains by heart.toml in place of newton.toml, for its 150 rounds, and kills KILLS (20) times a random node (kill -9) that
# has rounds left; they are started again and go on. Answers are then padded, so that the run lasts half a minute, and the example
# fails where fewer kills fit into it. DIR is a new folder on a local disk, hospitals-run by default. The data folder is SOTTO_DATA, the program SOTTO (built from this checkout if not set), the first
# of four ports PORT: below the range that the system gives to outgoing connections (32768 and up on Linux), lest one of
# those holds a node's port when it starts again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
chaos=
[ "${1:-}" = --chaos ] && { chaos=yes; shift; }
dir=${1:-hospitals-run}
port=${PORT:-21700}
data=${SOTTO_DATA:?set SOTTO_DATA to the data folder}/heart-disease
kills=${KILLS:-20}
# A node that was killed after its last round waits --linger for those who have left.
options=${OPTIONS:---linger 10s}
[ $chaos ] && options="--pad 150ms $options"
hospitals="cleveland hungarian switzerland va"

[ -e "$dir" ] && { echo "run.sh: $dir exists; choose a new folder" >&2; exit 2; }
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
sotto=${SOTTO:-$dir/sotto}
[ -x "$sotto" ] || (cd "$here" && CGO_ENABLED=0 go build -o "$sotto" ../../cmd/sotto)
file=newton.toml
[ $chaos ] && file=heart.toml
cp "$here/$file" "$dir"
cd "$dir"

echo "== keys and roster"
"$sotto" roster new "$file"
i=0
for h in $hospitals; do
	mkdir "$h"
	"$sotto" keygen --out "$h/key" >"$h/id"
	"$sotto" roster add --name "$h" --peer "$(cat "$h/id")" --addr "127.0.0.1:$((port + i))"
	i=$((i + 1))
done
for h in $hospitals; do
	"$sotto" roster sign --key "$h/key"
done
"$sotto" roster verify

echo "== policies: each hospital's own, in words that its data-protection officer can read"
for h in $hospitals; do
	{
		echo 'version = 1'
		echo 'ledger = "ledger"'
		echo 'algorithms = ["newton", "dsgd", "dsgt"]'
		echo 'minimum_batch = 16'
		printf 'peers = ['
		for p in $hospitals; do
			[ "$p" = "$h" ] || printf '"%s", ' "$(cat "$p/id")"
		done
		echo ']'
		echo '[[dataset]]'
		echo 'name = "heart-disease"'
		echo 'lifetime_epsilon = 8.0'
		echo 'lifetime_delta = 1e-4' # below a tenth of 1/n, n being the records of the largest hospital
		echo 'min_records = 40'
	} >"$h/policy.toml"
done

# take_part becomes the node: run it in the background or in a subshell.
take_part() {
	exec "$sotto" node --key "$1/key" --data "$data/processed.$1.data" --policy "$1/policy.toml" --state "$1/state" --alone $options "$2"
}

echo "== preflight of one of them: nothing leaves"
(take_part cleveland --check)

# Each node runs under a loop that starts it again when it was killed, as systemd would.
supervise() {
	while :; do
		take_part "$1" --quiet >"$1/result" 2>>"$1/log" &
		echo $! >"$1/pid"
		code=0
		wait $! || code=$?
		case $code in
		0) break ;;
		137) echo "$1 was killed, starts again" >>log ;;
		*) echo "$1 stopped with exit code $code" >>log; cat "$1/log" >&2; echo 'a node failed:' >failed; break ;;
		esac
	done
	rm -f "$1/pid"
	touch "$1/ended"
}

ended() { [ "$(ls ./*/ended 2>/dev/null | wc -l)" -eq 4 ]; }

echo "== training"
touch log
for h in $hospitals; do
	supervise "$h" &
done
if [ $chaos ]; then
	done=0
	while [ $done -lt "$kills" ] && [ ! -e failed ] && ! ended; do
		sleep "0.$(awk -v seed="$done$$" 'BEGIN { srand(seed); print int(10 + 80 * rand()) }')"
		victim=$(echo $hospitals | cut -d' ' -f$(awk -v seed="$$$done" 'BEGIN { srand(seed); print 1 + int(4 * rand()) }'))
		pid=$(cat "$victim/pid" 2>/dev/null || true)
		# a node that has started, and has rounds left
		[ -n "$pid" ] && "$sotto" status "$victim/state" --output json 2>/dev/null | grep -q '"finished": false' || continue
		kill -9 "$pid" 2>/dev/null && done=$((done + 1)) || true
	done
	[ $done -eq "$kills" ] || [ -e failed ] || echo "only $done kills of $kills fitted into the run" >failed
fi
until ended; do
	sleep 0.1
	[ ! -e failed ] || for h in $hospitals; do # the others would wait for it
		kill "$(cat "$h/pid" 2>/dev/null)" 2>/dev/null || true
	done
done
[ ! -e failed ] || { echo "run.sh: $(cat failed log)" >&2; exit 1; }
[ $chaos ] && echo "$(grep -c 'was killed' log) kills were survived"

echo "== every ledger is verified, and every statement's epsilon follows from it"
for h in $hospitals; do
	for l in "$h"/ledger/*/; do
		"$sotto" ledger verify "$l" >"$h/verified"
	done
done

field() { sed -n "s/^  \"$2\": \(.*[^,]\),*$/\1/p" "$1/state/own.json"; }
echo "== accuracy on each hospital's own test records, alone and of the shared model"
printf '%-12s %7s %9s %9s %9s %9s %8s\n' hospital tests alone shared epsilon delta charges
for h in $hospitals; do
	printf '%-12s %7d %9.3f %9.3f %9.3f %9s %8d\n' "$h" "$(field "$h" test_records)" "$(field "$h" alone)" "$(field "$h" together)" \
		"$(field "$h" epsilon)" "$(field "$h" delta)" "$(field "$h" charges)"
done
[ $chaos ] || {
	echo "== was joining worth it? Each hospital reads this for itself"
	for h in $hospitals; do
		printf '%-12s %s\n' "$h" "$(sed -n 's/^own model *//p' "$h/result")"
		printf '%-12s %s\n' '' "$(sed -n 's/^joining *//p' "$h/result")"
	done
}
