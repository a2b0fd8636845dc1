package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment/owner"
)

func newRosterAmend() *cobra.Command {
	var (
		f     owner.Files
		out   string
		round uint64
		to    owner.Changes
		shown cli.Output
	)
	c := &cobra.Command{
		Use:   "amend --round K --out FILE",
		Short: "Change the members of a run in progress: make a roster that takes effect after K rounds",
		Long: `Change the members of a run in progress: make a roster that takes effect after K rounds.

All members of the new roster sign it, and so does a key that is replaced. Then one member gives it
to its node, either when it starts the node or by replacing the roster file and sending SIGHUP. The
nodes send it to each other, ahead of all frames. K has to be ahead of that node's round by more
rounds than there are members. All members complete K rounds under the former roster, then go on
under the new one with the same state and ledger. A new member begins with the mean of its
neighbors' models.`,
		Example: cli.Unwrap(`  sotto roster amend --round 500 --out roster-1.toml --remove clinic-d \
--add clinic-e,3f5c...,clinic-e.example:4001
  sotto roster amend --round 500 --out roster-1.toml --gone clinic-d
  sotto roster amend --round 500 --out roster-1.toml --rekey clinic-b,77ab...`),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case out == "":
				return cli.Usage(errors.New("--out: found nothing, allowed: a new file"))
			case round == 0:
				return cli.Usage(errors.New("--round: found 0, allowed: at least 1, and a round that is " +
					"still to come"))
			}
			r, err := owner.AmendRoster(f, round, to, out)
			if errors.Is(err, fs.ErrExist) {
				return cli.Usagef("--out: %s exists; choose a new file", out)
			}
			if err != nil {
				return cli.OfFlag(err, map[string]string{"remove": "--remove", "gone": "--gone",
					"rekey": "--rekey", "rekey-lost": "--rekey-lost", "move": "--move", "add": "--add"})
			}
			return shown.Print(cmd.OutOrStdout(), rosterNow(out, r), "%s: epoch %d, from round %d on, "+
				"%s; digest %x: every member signs it now\n", out, r.Epoch.Number, round,
				config.Count(r.Size, "member"), r.Digest())
		},
	}
	registerRoster(c, &f)
	shown.Register(c)
	fl := c.Flags()
	fl.StringVar(&out, "out", "", "file to write the amended roster to")
	fl.Uint64Var(&round, "round", 0, "how many rounds are complete when it takes effect")
	fl.StringArrayVar(&to.Remove, "remove", nil, "NAME of a member that leaves, after that round")
	fl.StringArrayVar(&to.Gone, "gone", nil,
		"NAME of a member that no longer answers: nobody waits for it any more")
	fl.StringArrayVar(&to.Rekey, "rekey", nil,
		"NAME,PEER: a member's new key; its former key signs too, and its ledger goes on")
	fl.StringArrayVar(&to.Lost, "rekey-lost", nil, "NAME,PEER: the same, if the former key is lost or stolen")
	fl.StringArrayVar(&to.Move, "move", nil, "NAME,HOST:PORT: a member's new address")
	fl.StringArrayVar(&to.Add, "add", nil, "NAME,PEER,HOST:PORT of a new member")
	return c
}
