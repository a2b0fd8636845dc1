package experiment

import (
	"fmt"
	"math"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
	"sotto/experiment/runfile"
	"sotto/privacy"
)

// tunedSection of a run file says how its hyper-parameters were found; sotto tune writes
// it into best.toml.
const tunedSection = "tuned"

// What a search cost the owners of the data.
const (
	costNone        = "none"         // data that are public or generated
	costCharged     = "charged"      // private selection
	costNotIncluded = "not included" // private data, and the user accepts that nothing is charged
)

// stampNotIncluded stands in every ledger, statement and summary of a run whose search
// was on private data without a charge.
const stampNotIncluded = "tuned on private data, cost not included"

// TunedParams is the [tuned] section. A file without it has no such section in force
// either.
type TunedParams struct {
	Method  string  `toml:"method"`
	Data    string  `toml:"data"`   // the data set of the trials
	Metric  string  `toml:"metric"` // of held-out records
	Score   float64 `toml:"score"`
	Cost    string  `toml:"cost"`
	Epsilon float64 `toml:"epsilon,omitempty"` // of a charged search, for one who sees the chosen trial only
	Delta   float64 `toml:"delta,omitempty"`
}

// readTuned decodes the section where there is one.
func (f *File) readTuned() error {
	if !f.doc.Has(tunedSection) {
		return nil
	}
	p := &f.Tuned
	if err := f.doc.Read(tunedSection, p); err != nil {
		return err
	}
	var err error
	switch {
	case p.Cost != costNone && p.Cost != costCharged && p.Cost != costNotIncluded:
		err = config.Bad("cost", p.Cost,
			fmt.Sprintf("one of %s, %s, %s", costNone, costCharged, costNotIncluded))
	case (p.Cost == costCharged) != (p.Epsilon > 0) || math.IsInf(p.Epsilon, 1):
		err = config.Bad("epsilon", p.Epsilon, "above 0 and finite with cost charged, nothing otherwise")
	case (p.Cost == costCharged) != (p.Delta > 0) || p.Delta >= 1:
		err = config.Bad("delta", p.Delta, "above 0 and below 1 with cost charged, nothing otherwise")
	}
	return f.At(tunedSection, err)
}

// text says how hyper-parameters were found, "" for a file that does not know.
func (p *TunedParams) text() string {
	switch p.Cost {
	case costNone:
		return fmt.Sprintf("hyper-parameters were tuned on %s, which is public: no privacy cost", p.Data)
	case costCharged:
		return fmt.Sprintf("hyper-parameters were tuned on %s by private selection, which cost its owners "+
			"epsilon %.6g at delta %g by itself (who sees the chosen trial only); a further run on the "+
			"same data comes on top", p.Data, p.Epsilon, p.Delta)
	case costNotIncluded:
		return stampNotIncluded
	}
	return ""
}

// notCovered is what a privacy statement's figure leaves out: the search, where it had a
// cost.
func (p *TunedParams) notCovered() string {
	switch p.Cost {
	case costCharged:
		return fmt.Sprintf("the search for hyper-parameters, which cost epsilon %.6g at delta %g by itself",
			p.Epsilon, p.Delta)
	case costNotIncluded:
		return "the search for hyper-parameters: " + stampNotIncluded
	}
	return ""
}

// generatedData are made by this program: they are nobody's. userData are files that the
// user brings.
var (
	generatedData = map[string]bool{"glyphs": true, "linear-tasks": true, "least-squares": true,
		"logistic-regression": true, "quadratics": true, "values": true}
	userData = map[string]bool{"csv": true, "libsvm": true, "movielens": true}
)

// publicFor says whether trials on a data set cost the owners of the data of a run
// nothing: generated data, and published data that are not the run's own. A user's file
// is never taken to be public.
func publicFor(trials, run string) bool {
	return generatedData[trials] || !userData[trials] && trials != run
}

// refuse makes a config.Error a privacy refusal.
func refuse(err error) error { return fmt.Errorf("%w: %w", privacy.ErrRefused, err) }

// stamp writes how the values of a run file were found into it.
func stamp(doc *runfile.Document, found *TunedParams) error {
	b, err := toml.Marshal(found)
	if err != nil {
		return err
	}
	table := map[string]any{}
	err = toml.Unmarshal(b, &table)
	doc.Put(tunedSection, table)
	return err
}
