package main

import (
	"crypto/ed25519"
	"fmt"

	"github.com/spf13/cobra"

	"sotto/agent"
	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment/owner"
	"sotto/node/keyfile"
	"sotto/node/p2p"
	"sotto/node/roster"
)

func newRelay() *cobra.Command {
	var f owner.Files
	var listen string
	c := &cobra.Command{
		Use:   "relay --key FILE --listen HOST:PORT",
		Short: "Carry connections between members of a roster who cannot connect to each other",
		Long: `Carry connections between members of a roster who cannot connect to each other.

Members give its address to their nodes with --relay. It serves members of the roster and nobody
else, and has a key of its own, made by sotto keygen. What it carries is encrypted between the
members: it sees who talks to whom, when, and how much.`,
		Example: "  sotto relay --key relay.key --listen relay.example:4001 --roster roster.toml",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, value := range map[string]string{"key": f.Key, "listen": listen} {
				if value == "" {
					return cli.Usagef("--%s: found nothing; see sotto relay --help", name)
				}
			}
			if listen == p2p.NoListen {
				return cli.Usagef("--listen: found %s, allowed: host:port", listen)
			}
			if err := p2p.CheckListen(listen); err != nil {
				return cli.OfFlag(err, map[string]string{"listen": "--listen"})
			}
			return serveRelay(cmd, &f, listen)
		},
	}
	registerRosterFile(c, &f)
	c.Flags().StringVar(&f.Key, "key", "", "the relay's own key file")
	c.Flags().StringVar(&listen, "listen", "", "host:port to listen on")
	return c
}

func serveRelay(cmd *cobra.Command, f *owner.Files, listen string) error {
	members, err := roster.Read(f.Roster)
	if err != nil {
		return err
	}
	if !members.Complete() {
		return &config.Error{File: f.Roster, Key: "member", Found: fmt.Sprint(len(members.Members)),
			Allowed: fmt.Sprintf("%d, the size of the experiment", members.Size)}
	}
	key, err := keyfile.Read(f.Key)
	if err != nil {
		return err
	}
	log := logFlags{quiet: cli.Quiet(cmd), verbose: cli.Verbose(cmd)}
	logger, err := log.open(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	before := make([][]ed25519.PublicKey, members.Size) // those who have not come to this roster
	for i := range before {
		for _, f := range roster.Formers([]*roster.Roster{members}, agent.ID(i)) {
			if !f.Lost {
				before[i] = append(before[i], f.Key)
			}
		}
	}
	r, err := p2p.NewRelay(p2p.RelayConfig{Key: key, Members: p2pMembers(members, before), Listen: listen,
		Log: logger})
	if err != nil {
		return cli.OfFlag(err, map[string]string{"key": "--key"})
	}
	for _, p := range r.Points() {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "relay for %s at %s\n",
			config.Count(len(members.Members), "member"), p); err != nil {
			r.Close()
			return err
		}
	}
	<-cmd.Context().Done()
	return r.Close()
}
