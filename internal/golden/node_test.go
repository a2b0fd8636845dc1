package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// nodes are the members of testdata/node, and what their final models were when the
// folder was made.
var nodes = []struct{ name, model string }{{"a", "9bad434ec90f491f"}, {"b", "c40dcf31029499c3"}}

// TestNodes starts two nodes whose states and ledgers an earlier program has left in the
// middle of a run. Their noise was drawn before, so that the models at the end are fixed.
// Keys, roster, policies, signatures and ledgers have to be accepted, checkpoints read,
// and nothing may be charged again.
func TestNodes(t *testing.T) {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("the models are of amd64, and the members' addresses are loopback ones of Linux")
	}
	d := driver{dir: t.TempDir(), kernels: "portable"}
	copyTree(t, d.dir, "testdata/node")
	said := make([]bytes.Buffer, len(nodes))
	failed := make(chan error, len(nodes))
	for k, n := range nodes {
		cmd, err := d.command(nodeArgs(n.name)...)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = &said[k], &said[k]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		go func() { failed <- cmd.Wait() }()
	}
	ok := true
	for range nodes {
		ok = <-failed == nil && ok
	}
	for k, n := range nodes {
		text := said[k].String()
		if strings.Contains(text, "address already in use") {
			t.Skipf("another program has the address of node %s", n.name)
		}
		if !ok {
			t.Errorf("node %s: %s", n.name, text)
			continue
		}
		if !strings.Contains(text, ", 1 charge\n") {
			t.Errorf("node %s has charged again: %s", n.name, text)
		}
		b, err := os.ReadFile(filepath.Join(d.dir, n.name, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if got := short(b); got != n.model {
			t.Errorf("node %s: got model %s\n want model %s", n.name, got, n.model)
		}
	}
}
