# Made this folder once, with the program of its day: two nodes that average, killed in the middle of the run.
# Usage: make.sh PROGRAM, in an empty folder. The keys are of nobody.
set -eu
sotto=$1
export SOTTO_CPU=portable
echo '0 1 0.01' >edges.txt
cat >run.toml <<END
name = "mean-of-two"
rounds = 400
[topology]
graph = "file"
path = "edges.txt"
agents = 2
[data]
dataset = "csv"
partition = "natural"
path = "joint.csv"
label = "class"
label_values = ["no", "yes"]
[data.bounds]
x = [0, 100]
y = [0, 100]
[model]
name = "mean"
[algorithm]
name = "gossip-average"
[privacy]
unit = "owner"
adjacency = "replace-one"
noise_multiplier = 1.0
max_grad_norm = 1.0
target_delta = 1e-3
accountant = "rdp"
END
n=0
$sotto roster new run.toml
for m in a b; do
	n=$((n + 1))
	awk -v s=$n 'BEGIN { print "x,y,class"; for (i = 0; i < 40; i++) {
		x = (i*37 + s*11)%100; y = (i*61 + s*7)%100; print x "," y "," (x > y ? "yes" : "no") } }' >$m.csv
	$sotto keygen --out $m.key >$m.id
	$sotto roster add --name $m --peer $(cat $m.id) --addr 127.86.13.$n:20391
done
for m in a b; do
	$sotto roster sign --key $m.key
	[ $m = a ] && other=b || other=a
	cat >$m.toml <<END
version = 1
ledger = "ledger-$m"
algorithms = ["gossip-average"]
minimum_batch = 1
peers = ["$(cat $other.id)"]
[[dataset]]
name = "csv"
lifetime_epsilon = 10
lifetime_delta = 1e-3
min_records = 30
END
done
for m in a b; do
	$sotto node --quiet --key $m.key --data $m.csv --policy $m.toml --state $m --i-understand volatile 2>$m.err &
done
until [ -s b/rounds.csv ] && [ $(wc -l <b/rounds.csv) -gt 50 ]; do :; done
kill -9 %1 %2
wait || true
rm -f *.err *.id */status.json */lock */*/lock
