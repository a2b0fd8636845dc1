package p2p

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"

	"sotto/config"
)

// roomFor has no limit of files.
func roomFor(t *testing.T, members int) room {
	t.Helper()
	r, err := planRoom(members, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// All members may be behind one gateway: no number of connections per address is less
// than theirs, as libp2p's own default of 8 is.
func TestMembersBehindOneGateway(t *testing.T) {
	const members = 50
	for _, form := range []string{"/ip4/10.1.2.3/tcp/%d", "/ip6/2001:db8::%x/tcp/1"} {
		m, err := limits(members, roomFor(t, members))
		if err != nil {
			t.Fatal(err)
		}
		for k := range members {
			at := ma.StringCast(fmt.Sprintf(form, k+1))
			if _, err := m.OpenConnection(network.DirInbound, true, at); err != nil {
				t.Errorf("connection %d from %s: %v", k, at, err)
				break
			}
		}
		m.Close()
	}
}

// However many half-open connections come in, the node can still connect to others.
func TestConnectionsThatComeInLeaveRoomForThoseThatGoOut(t *testing.T) {
	m, err := limits(4, roomFor(t, 4))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	came := 0
	for range 10000 {
		if _, err := m.OpenConnection(network.DirInbound, true,
			ma.StringCast("/ip4/10.1.2.3/tcp/1")); err != nil {
			break
		}
		came++
	}
	if came == 10000 {
		t.Error("connections that come in have no bound")
	}
	for k := range 4 {
		if _, err := m.OpenConnection(network.DirOutbound, true,
			ma.StringCast("/ip4/10.9.9.9/tcp/1")); err != nil {
			t.Errorf("connection %d to others beside %d that came in: %v", k, came, err)
		}
	}
}

// Connections together never take more than the limit of files leaves, and a limit under
// which ledger and checkpoint could not stay open is refused with value and need.
func TestRoomFollowsTheLimitOfFiles(t *testing.T) {
	for _, members := range []int{2, 4, 50, 1000} {
		for _, limit := range []int{20, 32, 64, 100, 256, 1024, 1 << 20} {
			r, err := planRoom(members, limit, 10, true)
			if err != nil {
				var bad *config.Error
				if !errors.As(err, &bad) || !strings.Contains(err.Error(), fmt.Sprint(limit)) || limit > 150 {
					t.Errorf("%d members, %d files: %v", members, limit, err)
				}
				continue
			}
			if limit < 64 {
				t.Errorf("%d members: a limit of %d files was accepted", members, limit)
			}
			if used := r.in + r.out + r.waiting; used+10+48 > limit || r.waiting < 4 || r.out < 4 ||
				r.in < min(members, 8) {
				t.Errorf("%d members, %d files: %+v", members, limit, r)
			}
		}
	}
	l := openLoopback(t, 2, 1000)
	_, err := New(Config{Key: l.keys[0], Members: l.members, MaxPayload: 1000, hooks: hooks{files: 32}})
	if err == nil || !strings.Contains(err.Error(), "limit of open files: found 32, allowed: at least") {
		t.Errorf("a transport with 32 files: %v", err)
	}
}
