package experiment

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/data"
	"sotto/data/catalog"
	"sotto/internal/decimal"
)

// TunedSection of a run file says how its hyper-parameters were found; sotto tune writes
// it into best.toml.
const TunedSection = "tuned"

// What a search cost the owners of the data.
const (
	CostNone        = "none"         // data that are public or generated
	CostCharged     = "charged"      // private selection
	CostNotIncluded = "not included" // private data, and the user accepts that nothing is charged
)

// StampNotIncluded stands in every ledger, statement and summary of a run whose search
// was on private data without a charge.
const StampNotIncluded = "tuned on private data, cost not included"

// TunedParams is the [tuned] section. A file without it has no such section in force
// either.
type TunedParams struct {
	Method string  `toml:"method"` // method of the search, in words
	Data   string  `toml:"data"`   // the data set of the trials
	Metric string  `toml:"metric"` // what trials were compared by, on held-out records
	Score  float64 `toml:"score"`  // score of the chosen trial, in that metric
	// Cost is what the search cost the owners: "none" (public or generated data),
	// "charged", or "not included".
	Cost    string  `toml:"cost"`
	Epsilon float64 `toml:"epsilon,omitempty"` // of a charged search, for one who sees only the chosen trial
	Delta   float64 `toml:"delta,omitempty"`   // delta at which Epsilon holds
	// Secret says that the trials of a charged search and their number followed from a
	// secret. Otherwise they followed from a seed, and the search protected nobody.
	Secret bool `toml:"secret,omitempty"`
}

// readTuned decodes the section where there is one.
func readTuned(f *File) error {
	if !f.doc.Has(TunedSection) {
		return nil
	}
	p := &f.Tuned
	if err := f.doc.Read(TunedSection, p); err != nil {
		return err
	}
	var err error
	switch {
	case p.Cost != CostNone && p.Cost != CostCharged && p.Cost != CostNotIncluded:
		err = config.Bad("cost", p.Cost,
			fmt.Sprintf("one of %s, %s, %s", CostNone, CostCharged, CostNotIncluded))
	case (p.Cost == CostCharged) != (p.Epsilon > 0) || math.IsInf(p.Epsilon, 1):
		err = config.Bad("epsilon", p.Epsilon, "above 0 and finite with cost charged, nothing otherwise")
	case (p.Cost == CostCharged) != (p.Delta > 0) || p.Delta >= 1:
		err = config.Bad("delta", p.Delta, "above 0 and below 1 with cost charged, nothing otherwise")
	case p.Secret && p.Cost != CostCharged:
		err = config.Bad("secret", p.Secret, "nothing with cost "+p.Cost)
	case p.Cost == CostNone && !publicFor(p.Data, f.Data.Dataset):
		err = config.Bad("cost", p.Cost, fmt.Sprintf("%s: a search on %s is one on records of this run",
			CostNotIncluded, p.Data))
	}
	return f.At(TunedSection, err)
}

// Text says how hyper-parameters were found, "" for a file that does not know.
func (p *TunedParams) Text() string {
	switch p.Cost {
	case CostNone:
		return fmt.Sprintf("hyper-parameters were tuned on %s, which is public: no privacy cost", p.Data)
	case CostCharged:
		text := fmt.Sprintf("hyper-parameters were tuned on %s by private selection, which cost its owners "+
			"epsilon %s at delta %g by itself (who sees the chosen trial only); a further run on the "+
			"same data comes on top", p.Data, decimal.Digits(p.Epsilon, 6, true), p.Delta)
		if !p.Secret {
			text += "; the search was simulated: its trials follow from a seed, so that it protects nobody"
		}
		return text
	case CostNotIncluded:
		return StampNotIncluded
	}
	return ""
}

// NotCovered is what a privacy statement's figure leaves out: the search, where it had a
// cost.
func (p *TunedParams) NotCovered() string {
	switch p.Cost {
	case CostCharged:
		return fmt.Sprintf("the search for hyper-parameters, which cost epsilon %s at delta %g by itself",
			decimal.Digits(p.Epsilon, 6, true), p.Delta)
	case CostNotIncluded:
		return "the search for hyper-parameters: " + StampNotIncluded
	}
	return ""
}

// generatedData are made by this program: they are nobody's.
var generatedData = map[string]bool{"glyphs": true, "linear-tasks": true, "least-squares": true,
	"logistic-regression": true, "quadratics": true, "values": true, "made-ratings": true}

// Generated reports whether a data set is made by this program: it is nobody's.
func Generated(dataset string) bool { return generatedData[dataset] }

// unchecked are files that the user brings to a published name, and that nothing is
// compared with.
var unchecked = map[string]bool{"movielens": true}

// PublicFor says whether a search by trials costs the owners of the data set called run
// nothing: generated data, and published data that are not those of the run under this or
// another name. A file that the user brings is never taken to be public, nor is one that
// may differ from the published one.
func PublicFor(trials *File, run string) bool {
	name := trials.Data.Dataset
	return Generated(name) || publicFor(name, run) && !anyData(trials)
}

func publicFor(trials, run string) bool {
	return Generated(trials) || !data.OfUsers(trials) && !unchecked[trials] &&
		catalog.Owner(trials) != catalog.Owner(run)
}
