package main

import (
	"crypto/ed25519"
	"errors"
	"log/slog"

	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
	"sotto/node"
	"sotto/node/folder"
	"sotto/node/p2p"
	"sotto/node/roster"
	"sotto/node/wire"
)

// reachFlags say how a node is reached, and reaches others.
type reachFlags struct {
	listen, proxy, proxyAuth, folder string
	mdns                             bool
	relays                           []string
}

// proxyFromEnvironment in place of a proxy's address takes that of HTTPS_PROXY.
const proxyFromEnvironment = "env"

func (f *reachFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.listen, "listen", "",
		"host:port to listen on, or none for no port; default: the member's address in the roster")
	fl.BoolVar(&f.mdns, "mdns", false,
		"announce this node on the local network, and look there for members who are not at their roster "+
			"address")
	fl.StringVar(&f.proxy, "proxy", "",
		"http://host:port of an HTTP proxy to connect through, or env for the one in HTTPS_PROXY")
	fl.StringVar(&f.proxyAuth, "proxy-auth", "", "file with one line, name:password for the proxy")
	fl.StringArrayVar(&f.relays, "relay", nil,
		"host:port/key of a relay, as sotto relay prints it, through which this node and others reach each "+
			"other (repeatable)")
	fl.StringVar(&f.folder, "folder", "",
		"shared folder through which members exchange frames as files where they have no connection; with "+
			"--listen none and neither --relay nor --proxy, files are the only way")
}

// folderAlone tells whether there are no connections at all.
func (f *reachFlags) folderAlone() bool {
	return f.folder != "" && f.listen == p2p.NoListen && len(f.relays) == 0 && f.proxy == ""
}

// ways reads what the flags name.
func (f *reachFlags) ways() (r p2p.Reach, err error) {
	if err := p2p.CheckListen(f.listen); err != nil {
		return r, cli.OfFlag(err, map[string]string{"listen": "--listen"})
	}
	r.MDNS = f.mdns
	switch {
	case f.mdns && f.listen == p2p.NoListen:
		return r, cli.Usagef("--mdns: found --listen none, allowed: a port to announce")
	case f.proxyAuth != "" && f.proxy == "":
		return r, cli.Usagef("--proxy-auth: found no --proxy, allowed: with --proxy")
	case f.proxy == proxyFromEnvironment:
		r.Proxy, err = p2p.ProxyFromEnvironment()
	case f.proxy != "":
		r.Proxy, err = p2p.ParseProxy(f.proxy, f.proxyAuth)
	}
	for _, s := range f.relays {
		p, perr := p2p.ParseRelay(s)
		err = errors.Join(err, perr)
		r.Relays = append(r.Relays, p)
	}
	return r, cli.OfFlag(err, map[string]string{"proxy": "--proxy", "relay": "--relay"})
}

// dial opens the network as a member. others are the keys of members besides those of the
// roster.
func (f *reachFlags) dial(key ed25519.PrivateKey, maxPayload int, roster *roster.Roster,
	others [][]ed25519.PublicKey, log *slog.Logger) (node.Transport, error) {
	reach, err := f.ways()
	if err != nil {
		return nil, err
	}
	var files, conns node.Transport
	if f.folder != "" {
		c := folder.Config{Key: key, Dir: f.folder, MaxPayload: maxPayload, Log: log}
		for i, k := range roster.Keys() {
			c.Members = append(c.Members, folder.Member{Name: roster.Members[i].Name, Key: k})
		}
		if files, err = folder.New(c); err != nil || f.folderAlone() {
			return files, cli.OfFlag(err, map[string]string{"folder": "--folder"})
		}
	}
	conns, err = p2p.New(p2p.Config{Key: key, Members: p2pMembers(roster, others), Listen: f.listen,
		Reach: reach, MaxPayload: maxPayload, Log: log})
	switch {
	case files == nil:
		return conns, err
	case err != nil:
		return nil, errors.Join(err, files.Close())
	}
	return wire.NewSeveral(conns, files), nil
}

func p2pMembers(roster *roster.Roster, others [][]ed25519.PublicKey) (all []p2p.Member) {
	for i, key := range roster.Keys() {
		m := &roster.Members[i]
		all = append(all, p2p.Member{Name: m.Name, Key: key, Address: m.Address, Others: others[i]})
	}
	return all
}
