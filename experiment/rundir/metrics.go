package rundir

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
)

// Metrics that several packages know by name.
const (
	RMSE = "rmse" // the root of the mean squared error of test records
	// EstimationRMSE is the root mean square, over coordinates, of a model's distance
	// from the hidden vector that generated data were made with. Beside every agent's
	// own stands, as agent "all", that of the mean of all agents' models.
	EstimationRMSE = "estimation_rmse"
	// EstimationNoiseFree is EstimationRMSE of the mean of all agents' iterates without
	// noise, which a published form puts out.
	EstimationNoiseFree = "estimation_rmse_noise_free"
	// ClassAccuracy begins the metric of one class's accuracy; the class's number
	// follows.
	ClassAccuracy = "class_accuracy."
)

// Row is one line of metrics.csv. Agent is an agent's number, or one of mean, min, max,
// all.
type Row struct {
	Round uint64 `json:"round"`
	Agent string `json:"agent"`
	// accuracy, loss, rmse, estimation_rmse, clip, consensus_distance, those of
	// [evaluate] gradients; after the last round class_accuracy.<class> too
	Metric  string  `json:"metric"`
	Value   float64 `json:"value"`
	Epsilon float64 `json:"epsilon"` // upper bound of what the agent (or the worst agent) has spent so far
	Delta   float64 `json:"delta"`
}

var metricsHeader = []string{"round", "agent", "metric", "value", "epsilon", "delta"}

// EncodeMetrics writes rows as CSV with shortest round-trip floats.
func EncodeMetrics(rows []Row) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(metricsHeader)
	for _, r := range rows {
		w.Write([]string{strconv.FormatUint(r.Round, 10), r.Agent, r.Metric, Number(r.Value),
			Number(r.Epsilon), Number(r.Delta)})
	}
	w.Flush() // a bytes.Buffer takes everything
	return b.Bytes()
}

// ReadMetrics returns the rows of a finished run's metrics.csv, in its order.
func ReadMetrics(dir string) ([]Row, error) {
	path := filepath.Join(dir, MetricsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return DecodeMetrics(path, b)
}

// DecodeMetrics reads what EncodeMetrics writes; name is for errors.
func DecodeMetrics(name string, b []byte) ([]Row, error) {
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(lines) == 0 || !slices.Equal(lines[0], metricsHeader) {
		return nil, &config.Error{
			File:    name,
			Line:    1,
			Found:   "another header",
			Allowed: strings.Join(metricsHeader, ","),
		}
	}
	rows := make([]Row, 0, len(lines)-1)
	for i, f := range lines[1:] {
		r := Row{Agent: f[1], Metric: f[2]}
		if r.Round, err = strconv.ParseUint(f[0], 10, 64); err != nil {
			return nil, &config.Error{
				File:    name,
				Line:    i + 2,
				Key:     metricsHeader[0],
				Found:   strconv.Quote(f[0]),
				Allowed: "a whole number, at least 0",
			}
		}
		for k, dst := range []*float64{&r.Value, &r.Epsilon, &r.Delta} {
			if *dst, err = strconv.ParseFloat(f[3+k], 64); err != nil {
				return nil, &config.Error{
					File:    name,
					Line:    i + 2,
					Key:     metricsHeader[3+k],
					Found:   strconv.Quote(f[3+k]),
					Allowed: "a number",
				}
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Number is the shortest text that reads back as x.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
