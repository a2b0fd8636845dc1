//go:build netns && linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Two processes, each in a network namespace of its own, with a link between them that is cut, or loses and delays packets:
//
//	go test -tags netns -run Namespaces ./cmd/sotto
//
// needs root and iproute2; packet loss and delay also the kernel's netem.
func TestNamespaces(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("network namespaces need iproute2: no ", tool)
		}
	}
	for _, name := range []string{"cut", "lossy"} {
		t.Run(name, func(t *testing.T) {
			left, right := link(t)
			if name == "lossy" {
				for _, ns := range []string{left, right} { // each way: 5 % lost, 40 ± 20 ms, some out of order
					if out, err := exec.Command("tc", "-n", ns, "qdisc", "add", "dev", "cable", "root", "netem", "loss", "5%", "delay", "40ms", "20ms").CombinedOutput(); err != nil {
						t.Skipf("no packet loss on this kernel: %s", strings.TrimSpace(string(out)))
					}
				}
			}
			testscript.Run(t, testscript.Params{Files: []string{"testdata/netns/" + name + ".txtar"}, Setup: func(env *testscript.Env) error {
				env.Setenv("LEFT", left)
				env.Setenv("RIGHT", right)
				return nil
			}})
		})
	}
}

// link makes two namespaces with the addresses 10.77.0.1 and 10.77.0.2 on a cable between them.
func link(t *testing.T) (left, right string) {
	t.Helper()
	left, right = fmt.Sprint("sotto-a-", os.Getpid()), fmt.Sprint("sotto-b-", os.Getpid())
	run := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("no network namespaces here: ip %s: %s", args, strings.TrimSpace(string(out)))
		}
	}
	for _, ns := range []string{left, right} {
		run("netns add " + ns)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", ns).Run() })
	}
	run("link add cable netns " + left + " type veth peer name cable netns " + right)
	for k, ns := range []string{left, right} {
		run(fmt.Sprintf("-n %s address add 10.77.0.%d/24 dev cable", ns, k+1))
		run("-n " + ns + " link set lo up")
		run("-n " + ns + " link set cable up")
	}
	return left, right
}
