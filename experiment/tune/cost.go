package tune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sotto/experiment"
	"sotto/experiment/plan"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/jsontext"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Cost is what a charged search costs some agents.
type Cost struct {
	Agents string `json:"agents"`
	// All is epsilon for one who sees all messages of all trials. It tells their number:
	// privacy.json alone holds it.
	All rundir.Bounds `json:"-"`
	// Chosen is for one who sees all of the chosen trial, its score included, and nothing
	// of the others or their number; absent where there is no trial.
	Chosen *rundir.Bounds `json:"epsilon_chosen_trial,omitempty"`
	Delta  float64        `json:"delta"`
}

// selectionAdversary says against whom the second figure holds.
const selectionAdversary = "sees the chosen trial only: its messages, models and score, nothing of the " +
	"other trials, their number or order"

// spend puts the charges of all trials into one ledger for each agent, and writes these
// and their statements: first epsilon for those who see all of it, then private
// selection's for those who see the chosen trial only.
func (w *searching) spend(res *Result, found *experiment.TunedParams) error {
	_, first, err := w.draw(1)
	if err != nil {
		return err
	}
	ledgers, one, err := w.joinLedgers(len(first.Task.Parts), res)
	if err != nil {
		return err
	}
	r, dir := run.NewAccounting(first, w.opt.Workers, ledgers), &rundir.Dir{Path: w.dir}
	delta := first.File.Privacy.TargetDelta
	found.Delta = delta
	var out []rundir.AgentStatement
	err = r.ByLedger(func(agents string, l *ledger.Memory) error {
		s, err := r.Statement(l)
		if err != nil {
			return err
		}
		s.Assumptions = append(s.Assumptions, w.t.draws.assumption())
		c := Cost{
			Agents: agents,
			All:    rundir.NewBounds(s.WouldBeEpsilon.Lower, s.WouldBeEpsilon.Upper),
			Delta:  delta,
		}
		if res.Best != nil {
			members, err := parseRanges(agents)
			if err != nil {
				return err
			}
			a, err := w.t.selection(one[members[0]], &first.Setup.Target)
			if err != nil {
				return err
			}
			s.PerAdversary = append(s.PerAdversary, a)
			chosen := rundir.NewBounds(a.Epsilon.Lower, a.Epsilon.Upper)
			c.Chosen = &chosen
			found.Epsilon = math.Max(found.Epsilon, a.Epsilon.Upper)
		}
		res.Spent = append(res.Spent, c)
		out = append(out, rundir.AgentStatement{Agents: agents, Statement: s, Text: s.String()})
		return nil
	})
	if err != nil {
		return err
	}
	b, err := r.EncodeLedgers()
	if err == nil {
		err = dir.Put(rundir.LedgerFile, b)
	}
	if err != nil {
		return err
	}
	if b, err = rundir.Indent(out); err != nil {
		return err
	}
	return dir.Put(rundir.PrivacyFile, b)
}

// joinLedgers gives every agent a ledger with the charges of all its trials, in their
// order, and returns the charges of one trial, by agent: those of all trials are equal,
// or the ledgers are not of this search.
func (w *searching) joinLedgers(agents int, res *Result) (ledgers []*ledger.Memory, one []account.Event,
	err error) {
	joined, keys := make([][]ledger.Record, agents), make([]string, agents)
	one = make([]account.Event, agents)
	for k, row := range res.Rows {
		path := filepath.Join(w.dir, row.Run, filepath.FromSlash(rundir.LedgerFile))
		trial, err := readRunLedgers(path, agents)
		if err != nil {
			return nil, nil, err
		}
		for i, records := range trial {
			ev, err := composed(records)
			if err != nil {
				return nil, nil, err
			}
			if k == 0 {
				one[i], keys[i] = ev, ev.Key()
			} else if ev.Key() != keys[i] {
				return nil, nil,
					fmt.Errorf("%w: trial %d charged agent %d otherwise than the first trial did",
						run.ErrCheckpoint, row.Trial, i)
			}
			joined[i] = append(joined[i], records...)
		}
	}
	for i := range joined {
		next := uint64(1)
		for k := range joined[i] {
			joined[i][k].Seq = next
			next += joined[i][k].Count
		}
		l := ledger.NewMemory(nil)
		if err := l.Restore(joined[i]); err != nil {
			return nil, nil, err
		}
		ledgers = append(ledgers, l)
	}
	return ledgers, one, nil
}

// composed is the sequence of the charges among records as one event.
func composed(records []ledger.Record) (account.Event, error) {
	var events []account.Event
	for _, r := range records {
		if r.Kind != ledger.Charge {
			continue
		}
		ev, err := account.Repeat(int(r.Count), unclipped(*r.Event))
		if err != nil {
			return account.Event{}, err
		}
		events = append(events, ev)
	}
	return account.Compose(events...)
}

// readRunLedgers returns the records of a finished run's ledgers, by agent.
func readRunLedgers(path string, agents int) ([][]ledger.Record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records := make([][]ledger.Record, agents)
	dec := json.NewDecoder(bytes.NewReader(b))
	for dec.More() {
		var line rundir.LedgerLine
		if err := jsontext.Next(path, b, dec, &line, "the ledgers of a run"); err != nil {
			return nil, err
		}
		members, err := parseRanges(line.Agents)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, i := range members {
			if i >= agents || records[i] != nil {
				return nil, fmt.Errorf("%s: agent %d is one too many", path, i)
			}
			records[i] = line.Records
		}
	}
	return records, nil
}

// parseRanges reads what ranges writes.
func parseRanges(s string) (ids []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		lo, errLo := strconv.ParseUint(first, 10, 31)
		hi, errHi := strconv.ParseUint(last, 10, 31)
		if errLo != nil || errHi != nil || lo > hi || len(ids) > 0 && int(lo) <= ids[len(ids)-1] ||
			hi > 1<<24 {
			return nil, fmt.Errorf("found agents %q, allowed: ascending numbers and ranges such as 0-3,7", s)
		}
		for i := lo; i <= hi; i++ {
			ids = append(ids, int(i))
		}
	}
	return ids, nil
}

// accountable refuses, before anything is trained, trials whose charges the accountant of
// private selection cannot read.
func (t *Search) accountable(e *experiment.Experiment) error {
	pl := &e.Plans[0]
	if len(pl.Events) == 0 {
		return refuse(e.File.Refuse("privacy.mechanism", e.File.Privacy.Mechanism, "one that charges "+
			"answers, such as gaussian, in a search that is charged; --not-private searches without a "+
			"charge"))
	}
	training, err := account.Repeat(pl.Queries(), pl.Events[0])
	if err != nil {
		return err
	}
	score, err := account.Gaussian(e.File.Evaluate.ScoreNoise, 1)
	if err != nil {
		return e.File.At("evaluate", err)
	}
	one, err := account.Compose(training, score)
	if err == nil {
		_, err = t.selection(one, &e.Setup.Target)
	}
	if err != nil {
		return fmt.Errorf("private selection: %w", err)
	}
	return nil
}

// selection is the epsilon of publishing the best of a random number of trials, each of
// which charges one.
func (t *Search) selection(one account.Event, p *plan.Target) (account.AdversaryStatement, error) {
	mean, eta := float64(t.p.Trials), laws[t.p.Law]
	ev, err := account.RepeatSelectPoisson(mean, one)
	if !math.IsNaN(eta) {
		ev, err = account.RepeatSelect(mean, eta, one)
	}
	if err != nil {
		return account.AdversaryStatement{}, err
	}
	acc, err := account.New("rdp", p.Adjacency, account.Record())
	if err == nil {
		err = acc.Compose(ev, 1)
	}
	if err != nil {
		return account.AdversaryStatement{}, err
	}
	eps, err := acc.Epsilon(p.Delta)
	return account.AdversaryStatement{Adversary: selectionAdversary, Epsilon: account.StatedInterval(eps),
		Method: fmt.Sprintf("private selection over a number of trials of %s law and mean %g (Papernot, "+
			"Steinke 2022), %s", t.p.Law, mean, acc.Describe().Method)}, err
}
