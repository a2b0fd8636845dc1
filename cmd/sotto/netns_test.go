//go:build netns && linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// rights skips where there can be no namespaces.
func rights(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("network namespaces need iproute2: no ip")
	}
}

// Two processes, each in a network namespace of its own, with a link between them that is
// cut, or loses and delays packets:
//
//	go test -tags netns -run Namespaces -v ./cmd/sotto
//
// needs root, iproute2 and /dev/net/tun.
func TestNamespaces(t *testing.T) {
	rights(t)
	for name, link := range map[string]func(t *testing.T) (left, right string){"cut": link, "lossy": lossy} {
		t.Run(name, func(t *testing.T) {
			left, right := link(t)
			testscript.Run(t, testscript.Params{Files: []string{"testdata/netns/" + name + ".txtar"},
				Setup: func(env *testscript.Env) error {
					env.Setenv("LEFT", left)
					env.Setenv("RIGHT", right)
					return nil
				}})
		})
	}
}

// namespaces makes namespaces; run is ip with arguments.
func namespaces(t *testing.T, label string, count int) (names []string, run func(args string)) {
	t.Helper()
	run = func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("no network namespaces here: ip %s: %s", args, strings.TrimSpace(string(out)))
		}
	}
	for k := range count {
		ns := fmt.Sprintf("sotto-%s%d-%d", label, k, os.Getpid())
		run("netns add " + ns)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", ns).Run() })
		names = append(names, ns)
	}
	return names, run
}

// raise gives the devices "cable" of the namespaces the addresses 10.77.0.1, 10.77.0.2
// and so on.
func raise(run func(args string), namespaces ...string) {
	for k, ns := range namespaces {
		run(fmt.Sprintf("-n %s address add 10.77.0.%d/24 dev cable", ns, k+1))
		run("-n " + ns + " link set lo up")
		run("-n " + ns + " link set cable up")
	}
}

// link is a cable between two namespaces.
func link(t *testing.T) (left, right string) {
	t.Helper()
	ns, run := namespaces(t, "cut", 2)
	left, right = ns[0], ns[1]
	run("link add cable netns " + left + " type veth peer name cable netns " + right)
	raise(run, left, right)
	return left, right
}

// lossy is a link that this process carries, packet by packet: it loses 5 % each way and
// delays the others by 20 to 60 ms, so that some come out of order.
func lossy(t *testing.T) (left, right string) {
	t.Helper()
	ns, run := namespaces(t, "lossy", 2)
	left, right = ns[0], ns[1]
	a, b := tunnel(t, left), tunnel(t, right)
	raise(run, left, right)
	var lost, carried atomic.Uint64
	carry := func(from, to *os.File, r *rand.Rand) {
		for {
			packet := make([]byte, 1<<16)
			n, err := from.Read(packet)
			if err != nil {
				return
			}
			if r.Float64() < .05 {
				lost.Add(1)
				continue
			}
			carried.Add(1)
			time.AfterFunc(20*time.Millisecond+time.Duration(r.Int64N(int64(40*time.Millisecond))), func() {
				to.Write(packet[:n])
			})
		}
	}
	go carry(a, b, rand.New(rand.NewPCG(1, 1)))
	go carry(b, a, rand.New(rand.NewPCG(1, 2)))
	t.Cleanup(func() {
		t.Logf("%d packets lost, %d carried", lost.Load(), carried.Load())
		if lost.Load() == 0 {
			t.Error("no packet was lost")
		}
		a.Close()
		b.Close()
	})
	return left, right
}

// within calls f in a thread that is in a namespace and ends with its goroutine. Sockets
// that f makes stay there.
func within(namespace string, f func() error) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		failed <- func() error {
			ns, err := os.Open("/run/netns/" + namespace)
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return f()
		}()
	}()
	return <-failed
}

// tunnel makes the device "cable" of a namespace, whose packets are read from and written
// to the file.
func tunnel(t *testing.T, namespace string) (f *os.File) {
	t.Helper()
	err := within(namespace, func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		req, err := unix.NewIfreq("cable")
		if err != nil {
			return err
		}
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
			return err
		}
		// only now: the poller does not take a device without a name
		if err := unix.SetNonblock(fd, true); err != nil {
			return err
		}
		f = os.NewFile(uintptr(fd), "cable")
		return nil
	})
	if err != nil {
		t.Skip("no tunnels here: ", err)
	}
	return f
}
