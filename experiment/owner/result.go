package owner

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/shapes"
	"sotto/internal/jsonfloat"
	"sotto/node"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// Result is what the owner alone may see: statistics of its private records.
type Result struct {
	Name   string           `json:"name"`
	Metric string           `json:"metric"`
	Value  jsonfloat.Float  `json:"together"`
	Alone  *jsonfloat.Float `json:"alone,omitempty"`
	Tests  int              `json:"test_records"`
	Charged
	Over   uint64  `json:"answers_longer_than_pad,omitempty"` // of the last process
	Note   string  `json:"note"`
	Scores *Scores `json:"scores,omitempty"` // nil: the model neither classifies nor has a target
}

// Charged is what all runs on these data have been charged.
type Charged struct {
	Epsilon float64 `json:"epsilon"` // upper bound
	Delta   float64 `json:"delta"`
	Charges int     `json:"charges"`
	// Open is what a ledger may lack beside what every statement leaves out, see there.
	Open []string `json:"not_covered,omitempty"`
}

// finish leaves model, signed statement and the owner's own figures, and then what is
// made of the owner's records alone, unless ctx ends that.
func (p *process) finish(ctx context.Context, n *node.Node) (*Result, error) {
	tokens := n.Tokens()
	b, err := p.EncodeModel(n.Params(), p.run())
	if tokens != nil {
		b, err = p.EncodeTokens(tokens, p.run())
	}
	if err != nil {
		return nil, err
	}
	open, err := p.release(b, n.Astray())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(writeAnswers(p, n), writeShapes(p, n)); err != nil {
		return nil, err
	}
	r, err := p.figures(n, nil)
	if err == nil {
		r.Open = open
		keepOwn(p, r)
		err = writeResult(p, r)
	}
	if err != nil {
		return nil, err
	}
	switch full, err := ownResult(ctx, p, n, r); {
	case err == nil:
		r = full
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		p.Node.Log.Warn("stopped before all was made of the owner's records alone: start the node again")
	default:
		return nil, err
	}
	return r, sayOwn(p, r)
}

// ownResult adds to a result what is made of the owner's records alone, where somebody
// asks for it, and writes it.
func ownResult(ctx context.Context, p *process, n *node.Node, r *Result) (*Result, error) {
	if p.Baseline && experiment.QuestionsOf(p.e) == nil {
		local, err := alone{p.Owner}.model(ctx)
		if err != nil {
			return nil, err
		}
		open := r.Open
		if r, err = p.figures(n, local); err != nil {
			return nil, err
		}
		r.Open = open
	}
	own, err := personal(ctx, p, n.Params())
	if err != nil {
		return nil, err
	}
	if r.Scores != nil {
		r.Scores.Personal = own
	}
	return r, writeResult(p, r)
}

func writeResult(p *process, r *Result) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return p.write(resultFile, append(b, '\n'))
}

// keepOwn takes what a process before has found of the models that are made of the
// owner's records alone, where its other figures are the same.
func keepOwn(p *process, r *Result) {
	var before Result
	b, err := os.ReadFile(filepath.Join(p.State, resultFile))
	if err != nil || json.Unmarshal(b, &before) != nil || before.Value != r.Value ||
		before.Tests != r.Tests {
		return
	}
	r.Alone = before.Alone
	if r.Scores != nil && before.Scores != nil {
		r.Scores.Alone, r.Scores.LessAlone = before.Scores.Alone, before.Scores.LessAlone
		r.Scores.Personal = before.Scores.Personal
	}
}

// writeAnswers leaves what a run that asks questions has found. It is what all members
// know, for they know the model.
func writeAnswers(p *process, n *node.Node) error {
	a, err := experiment.AnswersOf(p.e, n.Params())
	if a == nil || err != nil {
		return err
	}
	b, err := rundir.Indent(a)
	if err != nil {
		return err
	}
	return p.write(rundir.AnswersFile, b)
}

// writeShapes leaves what an additive model has learned, with what this node knows of the
// noise.
func writeShapes(p *process, n *node.Node) error {
	all := shapes.Of(p.e, n.Params(), p.bare)
	if all == nil {
		return nil
	}
	b, err := rundir.Indent(all)
	if err != nil {
		return err
	}
	return p.write(rundir.ShapesFile, b)
}

// unconfirmed is what a statement does not cover where neighbors may know of charges that
// the ledger lacks: a copy may have been put back, and a neighbor had not said in the
// process that signed where the member was, as it had left, or was away; or what it said
// was not in the ledger yet; or neighbors were restored as well, and have forgotten.
const unconfirmed = "charges that a restored ledger lacks, of which neighbors may know"

// release writes the model's file b and the signed statement that names its digest, each
// once: what was signed before stands, unless the file that it names is gone. astray says
// that neighbors may know of more charges. It returns what the statement leaves open
// beside what every one does.
func (p *process) release(b []byte, astray bool) (open []string, err error) {
	path := filepath.Join(p.State, StatementFile)
	had, err := rundir.ReadStatement(path)
	if err == nil && slices.Contains(had.Statement.NotCovered, unconfirmed) {
		open = []string{unconfirmed}
	}
	file, fileErr := os.ReadFile(filepath.Join(p.State, ModelFile))
	if err == nil && fileErr == nil && had.Model == fmt.Sprintf("%x", sha256.Sum256(file)) {
		return open, nil
	}
	if e := p.write(ModelFile, b); e != nil {
		return nil, e
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(b))
	switch {
	case err == nil && (had.Model == "" || had.Model == digest):
		return open, nil // as it was signed; the first programs named no model
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		if err = aside(path, p.Node.Log, err); err != nil {
			return nil, err
		}
	}
	if open = nil; astray {
		open = []string{unconfirmed}
		p.Node.Log.Warn("the statement does not cover all", "not", unconfirmed)
	}
	left := append(slices.Clip(p.Terms.Uncharged), p.timing(), whichLedger)
	if p.e.File.Model.Personal.Enabled {
		left = append(left, "the owner's own model, which is made of the released one and of the owner's "+
			"records, and is sent to nobody")
	}
	left = append(append(left, p.Terms.Adjacency.NotCovered()...), open...)
	s, err := p.ledger.Statement(ledger.About{Noise: p.Terms.NoiseKind, Model: digest, NotCovered: left})
	if err == nil {
		b, err = json.MarshalIndent(s, "", "  ")
	}
	if err != nil {
		return nil, err
	}
	return open, p.write(StatementFile, append(b, '\n'))
}

// whichLedger is what every statement says that it does not cover: a figure bounds what
// answers tell, and members see the id of the ledger that they are charged to.
const whichLedger = "which of the owner's ledgers is charged: where a record is in data that another was " +
	"made for, that other one is, and members see its id"

// timing is what a statement says that it does not cover. It does not depend on private
// data: whether a pad was long enough does.
func (p *process) timing() string {
	if p.Pad > 0 {
		return fmt.Sprintf("timing of replies that took longer than their pad of %v, of those that were "+
			"made without it, and what the scheduler of a busy machine adds", p.Pad)
	}
	return "timing of replies: it depends a little on the sizes of private batches"
}

// figures are of the final model, or of all tokens, and of a model trained alone; nil:
// there is none.
func (p *process) figures(n *node.Node, local tensor.Vec) (*Result, error) {
	r := &Result{Name: p.Name(), Tests: p.TestRecords(),
		Note: "statistics of private records: for the owner alone"}
	models := n.Tokens()
	if models == nil {
		models = []tensor.Vec{n.Params()}
	}
	if experiment.QuestionsOf(p.e) != nil { // what was found is no model
		models, r.Tests = nil, 0
	}
	for _, v := range models {
		var value float64
		value, r.Metric = p.Accuracy(v)
		r.Value += jsonfloat.Float(value / float64(len(models)))
	}
	if local != nil {
		value, _ := p.Accuracy(local)
		r.Alone = (*jsonfloat.Float)(&value)
	}
	if scores, err := ScoresOf(p.Owner, models, local); err == nil {
		r.Scores = scores
	} else { // what is wrong with private records stands in no error
		r.Note += "; the test records have no scores"
	}
	c, err := p.ledger.Spent()
	if err != nil {
		return nil, err
	}
	r.Charges = int(p.ledger.Total())
	r.Epsilon, r.Delta, r.Over = c.Epsilon.Upper, c.Delta, p.padded.Over()
	return r, nil
}
