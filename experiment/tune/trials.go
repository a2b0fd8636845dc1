package tune

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
)

const trialsFile = "trials.csv"

// Trial is one finished trial of a search, or one member of a population after one
// generation.
type Trial struct {
	Generation, Trial int      // generations and trials count from 1; random search has one generation
	From              int      // the member whose weights it went on from; 0: its own, or none
	Values            []string // of the space's keys in order, as TOML

	Score          float64 // what the search compares: larger is better
	Accuracy, Loss float64 // of held-out records, mean over agents; NaN where they are not observed
	Epsilon        float64 // of the trial's ledgers, upper end; NaN for members of a population
	experiment.Origin
	RunHash string
	Run     string // directory below that of the search; "" for members of a population
}

var (
	trialColumns  = []string{"generation", "trial", "from"} // the space's keys follow
	resultColumns = []string{"score", "accuracy", "loss", "epsilon", "config_digest", "engine", "arithmetic",
		"run_hash", "run", dataColumn}
)

// dataColumn has the digest of a trial's data.
const dataColumn = "data_digest"

func (r *Trial) fields() []string {
	f := []string{strconv.Itoa(r.Generation), strconv.Itoa(r.Trial), strconv.Itoa(r.From)}
	f = append(f, r.Values...)
	for _, x := range []float64{r.Score, r.Accuracy, r.Loss, r.Epsilon} {
		f = append(f, rundir.Number(x))
	}
	return append(f, r.ConfigDigest, r.Engine, r.Arithmetic, r.RunHash, r.Run, r.Data)
}

// parseTrial reads what fields writes.
func parseTrial(f []string, keys int) (Trial, error) {
	var r Trial
	var err error
	for k, dst := range []*int{&r.Generation, &r.Trial, &r.From} {
		if *dst, err = strconv.Atoi(f[k]); err != nil || *dst < 0 || k < 2 && *dst == 0 {
			return r, config.Bad(trialColumns[k], f[k], "a whole number from 1, or 0 for from")
		}
	}
	r.Values, f = f[3:3+keys], f[3+keys:]
	for k, dst := range []*float64{&r.Score, &r.Accuracy, &r.Loss, &r.Epsilon} {
		if *dst, err = strconv.ParseFloat(f[k], 64); err != nil {
			return r, config.Bad(resultColumns[k], f[k], "a number")
		}
	}
	r.ConfigDigest, r.Engine, r.Arithmetic, r.RunHash, r.Run = f[4], f[5], f[6], f[7], f[8]
	r.Data = f[9]
	return r, nil
}

// trialKey names a trial in the trials file.
func trialKey(generation, trial int) string { return fmt.Sprintf("%d/%d", generation, trial) }

// trialCodec is how the trials of a search over so many keys are written.
func trialCodec(header []string) rowfile.Codec[Trial] {
	keys := len(header) - len(trialColumns) - len(resultColumns)
	return rowfile.Codec[Trial]{
		Header: header,
		Before: header[:len(header)-1], // without the digest of the data
		Key:    func(r Trial) string { return trialKey(r.Generation, r.Trial) },
		Encode: func(r Trial) []string { return r.fields() },
		Decode: func(f []string) (Trial, error) { return parseTrial(f, keys) },
		Compare: func(a, b Trial) int {
			return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Trial, b.Trial))
		},
		Row:     "trial",
		Table:   "search",
		Columns: "the columns of this search: ",
	}
}

// openTrials reads what earlier processes have finished and opens the file for more.
func openTrials(dir string, t *Search) (*rowfile.Table[Trial], error) {
	header := slices.Clone(trialColumns)
	for _, d := range t.space {
		header = append(header, d.key)
	}
	return rowfile.Open(filepath.Join(dir, trialsFile), trialCodec(append(header, resultColumns...)))
}

// findTrial returns the row of a trial if it was made with this configuration, values,
// data, engine and arithmetic. Trials that were paid for count where a file of an earlier
// version does not say of which data they are.
func findTrial(w *searching, generation, trial, from int, e *experiment.Experiment) (Trial, bool) {
	r, ok := w.table.Find(trialKey(generation, trial))
	paid := w.t.draws.secret != nil && r.Data == "" && r.Settings(e)
	return r, ok && r.From == from && (paid || r.Of(e))
}

var nan = math.NaN()

// bestFirst orders rows by score; a score that is not a number is the worst, the lower
// number of equal ones comes first.
func bestFirst(rows []Trial) []Trial {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Trial) int {
		switch x, y := sortable(a.Score), sortable(b.Score); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return a.Trial - b.Trial
	})
	return rows
}

func sortable(score float64) float64 {
	if math.IsNaN(score) {
		return math.Inf(-1)
	}
	return score
}
