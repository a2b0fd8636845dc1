package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"runtime"
	"strconv"
	"strings"

	"sotto/model"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/report"
	"sotto/tensor"
)

// finish writes every file of the run and gives the directory its final name. Until that rename the
// checkpoint stays, so that a full disk costs nothing but the writing.
func (r *running) finish() (*Result, error) {
	var rows []Row
	for _, part := range r.rows {
		rows = append(rows, part...)
	}
	metrics := encodeMetrics(rows)
	weights, err := r.encodeModel()
	if err != nil {
		return nil, err
	}
	if r.spent, r.charges, err = r.accounts.spentBy(r.world.ledgers, false); err != nil {
		return nil, err
	}
	s := r.summarize()
	s.Run = r.dir.out + "/" + r.dir.name
	h := sha256.New()
	h.Write(metrics)
	h.Write(weights)
	s.RunHash = hex.EncodeToString(h.Sum(nil))

	graph, err := r.e.schedule.At(0)
	if err != nil {
		return nil, err
	}
	files := []struct {
		name string
		make func() ([]byte, error)
	}{
		{metricsFile, func() ([]byte, error) { return metrics, nil }},
		{modelFile, func() ([]byte, error) { return weights, nil }},
		{topologyFile, func() ([]byte, error) { return indent(graph) }},
		{ledgerFile, r.encodeLedgers},
		{privacyFile, r.encodeStatements},
		{manifestFile, func() ([]byte, error) { return indent(r.manifest()) }},
	}
	for _, f := range files {
		b, err := f.make()
		if err == nil {
			err = r.dir.put(f.name, b)
		}
		if err != nil {
			return nil, r.kept(err)
		}
	}
	if err := r.writeReport(s); err != nil {
		return nil, r.kept(err)
	}
	b, err := indent(s)
	if err == nil {
		err = r.dir.put(summaryFile, b)
	}
	if err != nil {
		return nil, r.kept(err)
	}
	if s.Run, err = r.dir.finish(); err != nil {
		return nil, r.kept(err)
	}
	return &Result{Dir: s.Run, Summary: s}, nil
}

// kept says how to go on after a file could not be written.
func (r *running) kept(err error) error {
	if !r.saved {
		return err
	}
	return fmt.Errorf("%w; the last checkpoint stands, go on from it with: sotto run --resume %s", err, r.dir.path)
}

func indent(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}

// encodeModel writes every agent's parameters, above manyAgents their mean.
func (r *running) encodeModel() ([]byte, error) {
	n := r.e.file.topo.Agents
	meta := map[string]string{"config_digest": r.e.Digest(), "engine": EngineVersion, "model": r.e.file.mod.Name, "noise": "simulated",
		"samples": formatShape(r.e.shape())}
	var tensors []model.NamedVec
	if n <= manyAgents {
		for i := range n {
			tensors = append(tensors, model.NamedVec{Name: fmt.Sprintf("agent.%d", i), Vec: r.world.sim.Params(i)})
		}
		return model.EncodeSafetensors(meta, tensors)
	}
	sum := make([]float64, r.e.model.Dim())
	for i := range n {
		for k, x := range r.world.sim.Params(i) {
			sum[k] += float64(x)
		}
	}
	mean := make(tensor.Vec, len(sum))
	for k := range mean {
		mean[k] = float32(sum[k] / float64(n))
	}
	return model.EncodeSafetensors(meta, []model.NamedVec{{Name: "mean", Vec: mean}})
}

// ledgerLine is one line of the simulator's ledger file: agents whose ledgers are equal.
type ledgerLine struct {
	Agents  string          `json:"agents"`
	Head    string          `json:"head"`
	Records []ledger.Record `json:"records"`
}

func (r *running) encodeLedgers() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	err := r.byLedger(func(agents string, l *ledger.Memory) error {
		line := ledgerLine{Agents: agents, Head: l.Head().String()}
		for rec, err := range l.Records() {
			if err != nil {
				return err
			}
			line.Records = append(line.Records, rec)
		}
		return enc.Encode(line)
	})
	return b.Bytes(), err
}

func (r *running) manifest() map[string]any {
	return map[string]any{
		"engine": EngineVersion, "accountant": account.Version, "config_digest": r.e.Digest(), "identity": r.e.identity(),
		"seed": r.e.file.root.Seed, "train_digest": r.e.split.Train.Digest, "test_digest": r.e.split.Test.Digest,
		"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "kernels": tensor.Kernels(), "processors": runtime.NumCPU(),
		"wall_seconds": r.elapsed().Seconds(),
	}
}

// figures draws the curves of a run.
func (r *running) figures() []report.Figure {
	curve := func(name, title, unit string, at func(ev *evaluation) (mid, low, high float64)) report.Figure {
		f := report.Figure{Name: name, Title: title, XLabel: "round", YLabel: unit, Curves: []report.Curve{{Name: "all agents"}}}
		for i := range r.evaluations {
			mid, low, high := at(&r.evaluations[i])
			f.Curves[0].Points = append(f.Curves[0].Points, report.Point{X: float64(r.evaluations[i].Round), Y: mid, Low: low, High: high})
		}
		return f
	}
	var figs []report.Figure
	if r.e.split.Train.Classes > 0 {
		figs = append(figs, curve("accuracy", "Test accuracy, mean and range over agents", "accuracy", func(ev *evaluation) (float64, float64, float64) {
			return ev.Accuracy.Mean, ev.Accuracy.Min, ev.Accuracy.Max
		}))
	}
	return append(figs,
		curve("loss", "Test loss, mean and range over agents", "loss", func(ev *evaluation) (float64, float64, float64) {
			return ev.Loss.Mean, ev.Loss.Min, ev.Loss.Max
		}),
		curve("consensus", "Consensus distance", "root mean square distance from the mean", func(ev *evaluation) (float64, float64, float64) {
			return ev.Consensus, ev.Consensus, ev.Consensus
		}),
		curve("epsilon", fmt.Sprintf("Epsilon spent at delta %g, worst agent", r.e.file.priv.TargetDelta), "epsilon", func(ev *evaluation) (float64, float64, float64) {
			return ev.Epsilon, ev.Epsilon, ev.Epsilon
		}))
}

func (r *running) writeReport(s Summary) error {
	page := report.Page{
		Title: "sotto run " + s.Name, Command: r.opt.Command, Config: string(r.e.effective), Notes: s.Notes,
		Produced: "engine " + EngineVersion + ", " + account.Version + ", run hash " + s.RunHash,
	}
	var text bytes.Buffer
	if err := s.WriteTable(&text); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			page.Facts = append(page.Facts, report.Fact{Name: name, Value: strings.TrimSpace(value)})
		}
	}
	page.Privacy.Header = []string{"agent", "epsilon upper", "lower", "delta", "adjacency", "unit", "accountant", "charges", "noise multiplier", "sample rate"}
	for _, p := range s.Privacy {
		who := p.Group
		if who == "" {
			who = strconv.Itoa(p.Agent)
		}
		page.Privacy.Rows = append(page.Privacy.Rows, []string{who, formatEpsilon(float64(p.Epsilon.Upper)), formatEpsilon(float64(p.Epsilon.Lower)),
			number(p.Delta), p.Adjacency, p.Unit, p.Accountant, strconv.FormatUint(p.Charges, 10), number(float64(p.Noise)), strconv.FormatFloat(p.SampleRate, 'g', 5, 64)})
	}
	page.Ledger.Header = []string{"agent", "records", "head"}
	for i, l := range r.world.ledgers {
		if i >= 20 {
			break
		}
		n := 0
		for range l.Records() {
			n++
		}
		page.Ledger.Rows = append(page.Ledger.Rows, []string{strconv.Itoa(i), strconv.Itoa(n), l.Head().String()})
	}
	for _, f := range r.figures() {
		var b bytes.Buffer
		if err := report.WriteSVG(&b, f); err != nil {
			return err
		}
		if err := r.dir.put("plots/"+f.Name+".svg", b.Bytes()); err != nil {
			return err
		}
		_, svg, _ := bytes.Cut(b.Bytes(), []byte("<svg"))
		page.Plots = append(page.Plots, template.HTML("<svg"+string(svg)))
	}
	var b bytes.Buffer
	if err := report.WriteHTML(&b, page); err != nil {
		return err
	}
	return r.dir.put(reportFile, b.Bytes())
}
