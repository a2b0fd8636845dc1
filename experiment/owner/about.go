package owner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"sotto/data/schema"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
)

// introduce leaves what the run is in the state directory, so that it can be read as a
// run's: the configuration in force, and who takes part under which policy.
func introduce(p *process) error {
	config, err := p.e.File.Effective()
	if err != nil {
		return err
	}
	if err := p.write(rundir.ConfigFile, config); err != nil {
		return err
	}
	if s, err := experiment.SchemaOf(p.e.File); err != nil {
		return err
	} else if s != nil {
		if err := p.write(schema.FileName, s.Encode()); err != nil {
			return err
		}
	}
	if columns := p.e.Task.Split.Train.Columns; columns != nil {
		b, err := rundir.Indent(rundir.Names{Features: columns})
		if err == nil {
			err = p.write(rundir.NamesFile, b)
		}
		if err != nil {
			return err
		}
	}
	facts, err := about(p)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(facts, "", "  ")
	if err != nil {
		return err
	}
	return p.write(rundir.NodeFile, append(b, '\n'))
}

func about(p *process) (*rundir.Node, error) {
	policy, err := os.ReadFile(p.from.Policy)
	if err != nil {
		return nil, err
	}
	sum, run := sha256.Sum256(policy), p.Roster.Run()
	ledger, err := filepath.Abs(p.ledger.Dir())
	if err != nil {
		return nil, err
	}
	capture := p.Capture
	if capture != "" {
		if capture, err = filepath.Abs(capture); err != nil {
			return nil, err
		}
	}
	return &rundir.Node{
		Run:     p.e.File.Run.Name,
		Member:  p.Name(),
		Members: p.Roster.Names(),
		Trained: rundir.Trained{
			Algorithm: p.Terms.Algorithm,
			Dataset:   p.Terms.Dataset,
			Model:     p.e.File.Model.Name,
			Steps:     p.Terms.Rounds,
			Asks:      p.plan().When,
		},
		Owned: rundir.Owned{
			Population:      cmp.Or(p.Budget.Population, p.Budget.Name),
			PolicyDigest:    hex.EncodeToString(sum[:]),
			LifetimeEpsilon: p.Budget.LifetimeEpsilon,
			LifetimeDelta:   p.Budget.LifetimeDelta,
		},
		Limits:       rundir.Limits{Target: jsonfloat.Float(p.Terms.Target), TargetDelta: p.Terms.Delta},
		RosterDigest: hex.EncodeToString(run[:]),
		Ledger:       ledger,
		Capture:      capture,
		Engine:       experiment.EngineVersion,
	}, nil
}
