package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/node/roster"
)

// Changes are what an amendment makes of a roster's members, in the order in which it is
// done. Each value has its parts with commas between.
type Changes struct {
	Remove []string // NAME of a member that leaves
	Gone   []string // NAME of one that nobody waits for any more
	Rekey  []string // NAME,PEER: another key, which the former one signs too
	Lost   []string // NAME,PEER: another key, where the former one is lost
	Move   []string // NAME,HOST:PORT: another address
	Add    []string // NAME,PEER,HOST:PORT of a new member
}

// make makes the changes. Errors name the field, in lower case, and "rekey-lost".
func (c *Changes) make(d roster.Draft) error {
	for _, change := range []struct {
		key, form string
		values    []string
		do        func(p []string) error
	}{
		{"remove", "NAME", c.Remove, func(p []string) error { return d.Remove(p[0], false) }},
		{"gone", "NAME", c.Gone, func(p []string) error { return d.Remove(p[0], true) }},
		{"rekey", "NAME,PEER", c.Rekey, func(p []string) error { return d.Rekey(p[0], p[1], "", false) }},
		{"rekey-lost", "NAME,PEER", c.Lost, func(p []string) error { return d.Rekey(p[0], p[1], "", true) }},
		{"move", "NAME,HOST:PORT", c.Move, func(p []string) error { return d.Move(p[0], p[1]) }},
		{"add", "NAME,PEER,HOST:PORT", c.Add, func(p []string) error { return d.Add(p[0], p[1], p[2]) }},
	} {
		for _, v := range change.values {
			p := strings.Split(v, ",")
			if len(p) != len(strings.Split(change.form, ",")) {
				return config.Bad(change.key, v, change.form)
			}
			err := change.do(p)
			var bad *config.Error
			if errors.As(err, &bad) && bad.Key == "member" {
				bad.Key = change.key
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// AmendRoster writes to out, which must not be there, the amendment of a signed roster
// that begins when round rounds are complete. fs.ErrExist: out is there. A config.Error,
// roster.ErrUnsigned: what is wrong.
func AmendRoster(from Files, round uint64, c Changes, out string) (*roster.Roster, error) {
	if _, err := os.Stat(out); err == nil {
		return nil, fmt.Errorf("%s: %w", out, fs.ErrExist)
	}
	r, f, err := ReadRoster(from.Roster, from.RunFile)
	if err != nil {
		return nil, err
	}
	if err := r.Verify(); err != nil {
		return nil, fmt.Errorf("%s: %w", from.Roster, err)
	}
	d, err := r.Amend(round)
	if err == nil {
		err = c.make(d)
	}
	if err == nil {
		err = d.Follows(r)
	}
	if err == nil {
		err = d.Valid()
	}
	if err == nil && len(c.Remove)+len(c.Gone)+len(c.Rekey)+len(c.Lost)+len(c.Move)+len(c.Add) == 0 {
		err = config.Bad("change", "none",
			"one or more of --remove, --gone, --rekey, --rekey-lost, --move, --add")
	}
	if err == nil {
		err = experiment.Resize(f, d.Size)
	}
	if err == nil && round >= f.Run.Rounds {
		err = config.Bad("epoch.round", round, fmt.Sprintf("below %d, the rounds of the run", f.Run.Rounds))
	}
	if err != nil {
		return nil, err
	}
	g, err := f.GraphFor(d.MembersSeed())
	if err != nil {
		return nil, err
	}
	d.Weigh(g)
	return d.Roster, d.Write(out)
}
