package p2p

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/mdns"
	"github.com/miekg/dns"
	ma "github.com/multiformats/go-multiaddr"

	"sotto/agent"
)

// What a member announces names it by a hash, and gives its addresses and port,
// link-local ones left out.
func TestAnnouncedRecords(t *testing.T) {
	l := openLoopback(t, 3, 1000)
	names := instances(l.members)
	if names[0] == names[1] || len(names[0]) != 32 || instances(l.members[:2])[0] == names[0] {
		t.Errorf("names %v: they have to differ by member and roster", names)
	}
	var at []ma.Multiaddr
	for _, s := range []string{"/ip4/10.0.0.7/tcp/4000", "/ip6/fe80::1/tcp/4000",
		"/ip6/2001:db8::7/tcp/4000"} {
		at = append(at, ma.StringCast(s))
	}
	z, err := zone(names[1], at)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, r := range z.Records(dns.Question{Name: mdnsService + ".local.", Qtype: dns.TypePTR,
		Qclass: dns.ClassINET}) {
		text.WriteString(r.String() + "\n")
	}
	for _, want := range []string{"PTR\t" + names[1] + "._sotto._tcp.local.", "4000 " + names[1] + ".local.",
		"A\t10.0.0.7", "AAAA\t2001:db8::7"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "fe80") {
		t.Errorf("a link-local address is announced:\n%s", text.String())
	}
	if _, err := zone(names[1], at[1:2]); err == nil {
		t.Error("a member without addresses announces itself")
	}
}

// Answers of members of the roster are taken, of nobody else, and of no impossible place.
func TestAnswersOfStrangersAreDropped(t *testing.T) {
	set := openLoopback(t, 2, 1000)
	name := instances(set.members)[1]
	l := &local{numbers: map[string]agent.ID{name: 1}}
	full := name + "._sotto._tcp.local."
	for _, tc := range []struct {
		entry mdns.ServiceEntry
		want  string
	}{
		{mdns.ServiceEntry{Name: full, AddrV4: net.IPv4(10, 0, 0, 7), Port: 4000}, "/ip4/10.0.0.7/tcp/4000"},
		{mdns.ServiceEntry{Name: full, AddrV6IPAddr: &net.IPAddr{IP: net.ParseIP("2001:db8::7")}, Port: 1},
			"/ip6/2001:db8::7/tcp/1"},
		{mdns.ServiceEntry{Name: "00" + full, AddrV4: net.IPv4(10, 0, 0, 7), Port: 4000}, ""},
		{mdns.ServiceEntry{Name: name + "._http._tcp.local.", AddrV4: net.IPv4(10, 0, 0, 7), Port: 4000}, ""},
		{mdns.ServiceEntry{Name: full, Port: 4000}, ""},
		{mdns.ServiceEntry{Name: full, AddrV4: net.IPv4(10, 0, 0, 7)}, ""},
		{mdns.ServiceEntry{Name: full, AddrV4: net.IPv4(10, 0, 0, 7), Port: 1 << 17}, ""},
		{mdns.ServiceEntry{Name: full, AddrV4: net.IPv4(224, 0, 0, 1), Port: 4000}, ""},
	} {
		i, at, ok := l.entry(&tc.entry)
		if ok != (tc.want != "") || ok && (i != 1 || len(at) != 1 || at[0].String() != tc.want) {
			t.Errorf("%+v: member %d at %v, %t; want %q", tc.entry, i, at, ok, tc.want)
		}
	}
}

// A member that is not at its roster's address is found where it says it is.
func TestMembersAreFoundInTheLocalNetwork(t *testing.T) {
	l := openLoopback(t, 2, 1000)
	open := func(i int) *Transport {
		tr, err := New(Config{
			Key:        l.keys[i],
			Members:    l.members,
			MaxPayload: 1000,
			Reach:      Reach{MDNS: true},
			hooks:      hooks{address: l.address},
		})
		if err != nil {
			t.Skipf("no multicast on this machine: %v", err)
		}
		t.Cleanup(func() { tr.Close() })
		return tr
	}
	a, b := open(0), open(1)
	came := make(chan agent.ID, 10)
	a.Serve(nobody(t))
	b.Serve(func(from agent.ID, _ []byte) error { came <- from; return nil })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if len(a.local.find(ctx, 1)) == 0 {
		t.Skip("multicast does not come back on this machine")
	}
	if err := send(a, 1); err != nil {
		t.Fatal(err)
	}
	if from := <-came; from != 0 {
		t.Errorf("a frame of member %d, want 0", from)
	}
}
