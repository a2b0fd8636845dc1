package deptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportRules(t *testing.T) {
	root := filepath.Join("..", "..")
	mod, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	bad, err := Check(root, strings.TrimSpace(string(mod)))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bad {
		t.Error(line)
	}
}

// The test is itself tested: each planted import must be found, with its reason.
func TestPlantedImportsAreFound(t *testing.T) {
	for _, tc := range []struct{ pkg, imp, want string }{
		{"algo", "example.org/x/data", "only oracles see data"},
		{"sim", "example.org/x/model", "come through the gate"},
		{"node", "example.org/x/oracle", "not noised yet"},
		{"privacy", "example.org/x/data", "never sees records"},
		{"algo", "time", "no clock"},
		{"algo", "net/http", "no I/O"},
		{"privacy", "math/rand/v2", "porous"},
		{"oracle", "math/rand", "porous"},
		{"experiment/plan", "example.org/x/data", "a plan is public"},
		{"experiment/replication", "example.org/x/data", "a plan is public"},
		{"experiment/exposure", "example.org/x/data", "public facts alone"},
		{"experiment/runfile", "example.org/x/tensor", "text with places"},
		{"internal/rowfile", "example.org/x/tensor", "rows of text"},
		{"internal/rowfile", "math/rand/v2", "porous"},
		{"experiment/rundir", "example.org/x/experiment", "without the program that trains"},
		{"experiment/rundir", "example.org/x/report", "goes up"},
		{"report", "example.org/x/experiment", "from files alone"},
		{"report", "example.org/x/data", "from files alone"},
		{"report", "example.org/x/model", "from files alone"},
		{"experiment/owner", "example.org/x/report", "an owner sees its own"},
		{"cmd/sotto", "example.org/x/tensor", "computes on vectors stands below"},
		{"cmd/sotto", "example.org/x/rng", "draws stands below"},
		{"cmd/sotto", "example.org/x/privacy/account/network", "whoever asks"},
		{"experiment", "example.org/x/node", "must not link the network"},
		{"experiment", "example.org/x/report", "whoever has finished a run"},
		{"experiment", "example.org/x/experiment/run", "goes up"},
		{"experiment/owner", "example.org/x/experiment/metric", "an observer sees all records"},
		{"node", "example.org/x/experiment/metric", "an observer sees all records"},
		{"node", "example.org/x/experiment/figurecache", "computed by whoever states it"},
		{"experiment/owner", "example.org/x/experiment/figurecache", "computed by whoever states it"},
		{"privacy/account/figure", "example.org/x/config", "figures are numbers"},
		{"model/score", "example.org/x/data", "whatever made them"},
		{"model/score", "os", "no I/O"},
		{"reproduce", "example.org/x/reproduce/dkm", "knows no paper"},
		{"reproduce/dkm", "example.org/x/reproduce/adad2p", "one layer"},
		{"node", "github.com/libp2p/go-libp2p", "one package"},
		{"node", "github.com/hashicorp/mdns", "one package"},
		{"tensor", "example.org/x/agent", "goes up"},
		{"topology", "example.org/x/data", "one layer"},
		{"gossip", "example.org/x/agent", "in no layer"},
		{"algo", "example.org/x/util", "in no layer"},
	} {
		root := t.TempDir()
		dir := filepath.Join(root, tc.pkg)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		src := "package p\n\nimport _ \"" + tc.imp + "\"\n"
		if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
		bad, err := Check(root, "example.org/x")
		if err != nil {
			t.Fatal(err)
		}
		if len(bad) != 1 || !strings.Contains(bad[0], tc.want) {
			t.Errorf("%s importing %s: found %q, want a line with %q", tc.pkg, tc.imp, bad, tc.want)
		}
	}
	for _, tc := range [][2]string{{"algo", "sotto/agent"}, {"rng", "math/rand/v2"},
		{"privacy", "sotto/privacy/ledger"}, {"oracle", "sotto/data"}, {"report", "sotto/experiment/rundir"},
		{"experiment/runfile", "sotto/config"}, {"internal/rowfile", "sotto/internal/atomicfile"}} {
		if why := forbidden(tc[0], tc[1], "sotto"); why != "" {
			t.Errorf("%s may import %s, found: %s", tc[0], tc[1], why)
		}
	}
}
