// Package tune searches for hyper-parameters, at random or by population-based training,
// and charges what a search on private data costs its owners.
package tune

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/metric"
	"sotto/experiment/runfile"
)

// Methods of a search.
const (
	methodRandom = "random"
	methodPBT    = "pbt"
)

const maxTrials = 100_000

// tuneParams is the [tune] section, but for its table of keys, [tune.space].
type tuneParams struct {
	Method string `toml:"method"` // random, or pbt: population-based training
	Metric string `toml:"metric"` // what trials are compared by: accuracy or loss
	// share of every agent's training records that is held out to score trials
	Validation float64 `toml:"validation"`
	// Seed draws the trials and perturbations. A charged search draws its trials from a
	// secret, and uses the seed only if it is simulated.
	Seed uint64   `toml:"seed"`
	Set  []string `toml:"set,omitempty"` // key=value of the run file, for the trials only

	Trials int `toml:"trials"` // random: number of trials; for a charged search, their expected number

	Population int     `toml:"population"` // pbt: how many trials run side by side
	Interval   uint64  `toml:"interval"`   // pbt: rounds between perturbations; 0: a tenth of the run
	Quantile   float64 `toml:"quantile"`   // pbt: share of the trials that copy one of the best
	Resample   float64 `toml:"resample"`   // pbt: probability that a copied value is drawn anew

	chargeParams
	// AcceptCost lets trials run on private data without a charge; every result then says
	// that the cost is not included.
	AcceptCost bool `toml:"accept_cost_not_included,omitempty"`
}

// chargeParams are the keys of [tune] that a charged search alone reads.
type chargeParams struct {
	// Law of the number of trials: geometric, logarithmic or poisson.
	Law string `toml:"law"`
	// noise standard deviation of a trial's score, divided by score_clip
	ScoreNoise float64 `toml:"score_noise_multiplier"`
	// largest loss that one record can count; for accuracy it is 1
	ScoreClip float64 `toml:"score_clip,omitempty"`
	// Simulated draws the trials of a charged search from its seed, for research: it
	// protects nobody.
	Simulated bool `toml:"simulated,omitempty"`
}

// onlyOf lists the keys that one method alone reads.
var onlyOf = map[string][]string{
	methodRandom: {"trials", "law"},
	methodPBT:    {"population", "interval", "quantile", "resample"},
}

// laws are those of the number of trials of a charged search (Papernot, Steinke 2022), by
// the parameter eta of the truncated negative binomial law; NaN is the Poisson law.
var laws = map[string]float64{"geometric": 1, "logarithmic": 0, "poisson": math.NaN()}

func defaults() tuneParams {
	return tuneParams{Method: methodRandom, Metric: metric.Accuracy, Validation: .1, Seed: 1,
		Trials: 16, Population: 8, Quantile: .25, Resample: .25,
		chargeParams: chargeParams{Law: "geometric", ScoreNoise: 10}}
}

// Params is a pointer to the keys of section [tune], as they are by default.
func Params() any {
	p := defaults()
	return &p
}

// Search is a run file and a search over some of its keys.
type Search struct {
	file   string
	base   []byte
	set    []string
	p      tuneParams
	space  dimensions // by key
	cost   string     // experiment.CostNone, experiment.CostCharged or experiment.CostNotIncluded
	rounds uint64     // of a trial
	data   string     // data set of the trials
	runs   int        // trials of random search; of a charged one known from Run on
	draws  draws
}

// Read reads the run file at path, whose section [tune] says how to search, and
// [tune.space] over what:
//
//	[tune]
//	method = "random"     # or "pbt"
//	trials = 20
//	[tune.space]
//	algorithm.step_size = { log = [0.01, 1.0] }
//	privacy.max_grad_norm = { uniform = [0.1, 2.0] }
//	model.hidden = { choice = [[16], [32, 16]] }
//
// set changes keys as for Read, those of [tune] included; space are further keys,
// "key=log:0.01:1" or "key=a,b,c", in place of those of the file. Trials that would spend
// the privacy of the run's data are charged by private selection, or refused.
func Read(path string, set, space []string) (*Search, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b, set, space)
}

// Parse is Read on bytes; file names them in errors.
func Parse(file string, b []byte, set, space []string) (*Search, error) {
	t := &Search{
		file: file,
		base: b,
		set:  set,
		p:    defaults(),
	}
	doc, err := t.document()
	if err != nil {
		return nil, err
	}
	if doc.Has(experiment.SweepSection) {
		return nil,
			doc.Locate("", config.Bad(experiment.SweepSection, "a sweep", "no section [sweep] in a search"))
	}
	s, err := doc.Section(experiment.TuneSection)
	if err != nil {
		return nil, err
	}
	if err := s.Decode(&t.p); err != nil {
		return nil, err
	}
	s.Know("space")
	if err := doc.Finish(); err != nil {
		return nil, err
	}
	if err := doc.Locate(experiment.TuneSection, t.p.validate(s.Raw())); err != nil {
		return nil, err
	}
	if err := t.readSpace(doc, s.Raw()["space"], space); err != nil {
		return nil, err
	}
	return t, t.settle(doc)
}

// document is the run file with the settings that the command line makes.
func (t *Search) document() (*runfile.Document, error) {
	doc, err := runfile.Parse(t.file, t.base)
	if err != nil {
		return nil, err
	}
	for _, v := range t.set {
		if err := doc.Set("--set", v); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func (p *tuneParams) validate(given map[string]any) error {
	if p.Method != methodRandom && p.Method != methodPBT {
		return config.Bad("method", p.Method, "one of pbt, random")
	}
	for _, method := range []string{methodRandom, methodPBT} {
		for _, key := range onlyOf[method] {
			if v, ok := given[key]; ok && p.Method != method {
				return config.Bad(key, v, "nothing with method "+p.Method+": only "+method+" reads it")
			}
		}
	}
	_, law := laws[p.Law]
	switch {
	case p.AcceptCost && p.Simulated:
		return config.Bad("simulated", p.Simulated,
			"false with accept_cost_not_included (--not-private): a search without a charge has no secret")
	case p.Metric != metric.Accuracy && p.Metric != metric.Loss:
		return config.Bad("metric", p.Metric, "one of accuracy, loss")
	case !(p.Validation > 0 && p.Validation < 1):
		return config.Bad("validation", p.Validation, "above 0 and below 1")
	case p.Trials < 1 || p.Trials > maxTrials:
		return config.Bad("trials", p.Trials, fmt.Sprintf("1 to %d", maxTrials))
	case !law:
		return config.Bad("law", p.Law, config.OneOf(laws))
	case p.Population < 2 || p.Population > maxTrials:
		return config.Bad("population", p.Population, fmt.Sprintf("2 to %d", maxTrials))
	case !(p.Quantile > 0 && p.Quantile <= .5):
		return config.Bad("quantile", p.Quantile, "above 0 and at most 0.5")
	case !(p.Resample >= 0 && p.Resample <= 1):
		return config.Bad("resample", p.Resample, "0 to 1")
	}
	return nil
}

// readSpace joins the keys of the file and of flags.
func (t *Search) readSpace(doc *runfile.Document, table any, flags []string) error {
	space := map[string]dimension{}
	m, ok := table.(map[string]any)
	if !ok && table != nil {
		return doc.Locate(experiment.TuneSection, config.Bad("space", table, "a table [tune.space]"))
	}
	if err := doc.Locate(experiment.TuneSection+".space", readSpace(space, "", m)); err != nil {
		return err
	}
	for _, f := range flags {
		d, err := parseSpaceFlag(f)
		if err != nil {
			return fromFlag("--tune", err)
		}
		space[d.key] = d
	}
	if len(space) == 0 {
		return doc.Locate(experiment.TuneSection,
			config.Bad("space", "nothing to search", "a table [tune.space], or --tune key=log:low:high"))
	}
	for _, key := range slices.Sorted(maps.Keys(space)) {
		t.space = append(t.space, space[key])
	}
	return nil
}

// fromFlag names the flag in an error that has no place yet.
func fromFlag(flag string, err error) error {
	if e, ok := err.(*config.Error); ok && e.File == "" {
		e.File = flag
	}
	return err
}

// settle finds out what the search costs and how many trials it has, and refuses what
// nothing can account for.
func (t *Search) settle(doc *runfile.Document) error {
	target, err := t.target()
	if err != nil {
		return err
	}
	t.draws.seed = t.p.Seed
	values, err := t.runnable(1, t.decodes)
	if err != nil {
		return err
	}
	first, err := t.trial(1, values)
	if err != nil {
		return err
	}
	t.data, t.rounds, t.runs = first.Data.Dataset, first.Run.Rounds, t.p.Trials
	at := func(err error) error { return doc.Locate(experiment.TuneSection, err) }
	switch {
	case t.p.Method == methodPBT && t.p.Interval == 0:
		t.p.Interval = max(1, t.rounds/10)
	case t.p.Interval > t.rounds:
		return at(config.Bad("interval", t.p.Interval,
			fmt.Sprintf("at most the %d rounds of a trial", t.rounds)))
	}
	if experiment.PublicFor(first, target.Data.Dataset) {
		t.cost = experiment.CostNone
		return at(t.checkKeys())
	}
	const other = "; set = [\"data.dataset=...\"] searches on public or generated data, " +
		"accept_cost_not_included = true (--not-private) on these without a charge and stamps every result"
	switch {
	case t.p.AcceptCost:
		t.cost = experiment.CostNotIncluded
	case t.p.Method == methodPBT:
		return refuse(at(config.Bad("method", t.p.Method, "random on private data ("+t.data+
			"): no theorem accounts for a population that copies its best members"+other)))
	case first.Privacy.Mechanism == "none":
		return refuse(at(config.Bad("method", t.p.Method, "nothing on private data ("+t.data+
			") with mechanism none: such trials have no finite cost"+other)))
	case t.p.Metric == metric.Loss && t.p.ScoreClip == 0:
		return at(config.Bad("score_clip", "nothing",
			"above 0: with metric loss on private data the largest loss that one record counts"))
	default:
		t.cost = experiment.CostCharged
		if _, err = t.drawRuns(); err != nil { // by the seed, to see that it can be done
			return at(err)
		}
	}
	return at(t.checkKeys())
}

// target is the run file without the search.
func (t *Search) target() (*experiment.File, error) {
	plain, err := t.document()
	if err != nil {
		return nil, err
	}
	plain.Drop(experiment.TuneSection)
	return experiment.Decode(plain)
}

// reserved are keys that no search may vary, and those that a search of one kind may not,
// with the reason.
func (t *Search) reserved(key string) string {
	section, _, _ := strings.Cut(key, ".")
	switch {
	case key == "seed" || key == "name" || key == "trial" || section == "evaluate" ||
		section == experiment.TunedSection || section == experiment.TuneSection ||
		section == experiment.SweepSection:
		return "it is no hyper-parameter of training"
	case section == "data" && key != "data.augmentations" && !strings.HasPrefix(key, "data.augment_"):
		return "all trials score the same held-out records"
	case t.p.Method == methodPBT && (section == "model" || section == "data" || key == "rounds" ||
		key == "topology.agents" || key == "algorithm.name" || key == "algorithm.optimizer"):
		return "members of a population go on from each other's weights, so that it may not change within " +
			"a run"
	case t.cost == experiment.CostCharged &&
		(section == "replication" || key == "rounds" || key == "topology.agents" ||
			section == "privacy" && key != "privacy.max_grad_norm"):
		return "private selection needs candidates that cost the same"
	}
	return ""
}

func (t *Search) checkKeys() error {
	for _, d := range t.space {
		if why := t.reserved(d.key); why != "" {
			return config.Bad("space."+d.key, d.key, "other keys: "+why)
		}
	}
	return nil
}

// digest identifies the search by its keys and space, however they are written and given:
// who makes a charged search again goes on with the one that was paid for.
func (t *Search) digest() (string, error) {
	plain, err := t.document()
	if err != nil {
		return "", err
	}
	plain.Drop(experiment.TuneSection) // whose keys are those of t.p
	base, err := plain.Encode()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %+v %+v", base, t.p, t.space)
	return hex.EncodeToString(h.Sum(nil)), nil
}
