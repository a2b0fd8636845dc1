package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// SimCase is one size of the asynchronous simulator.
type SimCase struct {
	Agents, Dim int
}

// SimCases are the sizes that "sotto bench --sim" measures: cost a wake over the number
// of agents, and wide models at 100,000 of them.
var SimCases = []SimCase{{1000, 10}, {10_000, 10}, {100_000, 10}, {1_000_000, 10}, {100_000, 100}}

// SimReport is what one size costs.
type SimReport struct {
	Agents  int    `json:"agents"`
	Dim     int    `json:"dim"`
	Links   int    `json:"links"`
	Records int    `json:"records"`
	Wakes   uint64 `json:"wakes"`
	// charged, full gradient of all records, clipped, noised, broadcast
	PerSecond  float64 `json:"private_wakes_per_s"`
	CPUMicros  float64 `json:"cpu_us_per_wake"` // processor time of all workers
	AgentBytes float64 `json:"bytes_per_agent"` // algorithm, gate, ledger, messages, graph
	DataBytes  float64 `json:"data_bytes_per_agent"`
	PeakMB     float64 `json:"peak_memory_mb"` // of the process so far
}

// Sim measures private block coordinate descent at every size of at most limit agents (0:
// all). note, when not nil, is told what comes next.
func Sim(seconds float64, workers, limit int, note func(what string)) ([]SimReport, error) {
	if err := parallel.Check(workers); err != nil {
		return nil, err
	}
	switch {
	case !(seconds > 0 && seconds <= 3600):
		return nil, config.Bad("seconds", seconds, "above 0 and at most 3600")
	case limit < 0 || limit > 0 && limit < SimCases[0].Agents:
		return nil, config.Bad("agents", limit,
			fmt.Sprintf("0 (all sizes) or at least %d", SimCases[0].Agents))
	}
	var reports []SimReport
	for _, c := range SimCases {
		if limit > 0 && c.Agents > limit {
			continue
		}
		if note != nil {
			note(fmt.Sprintf("%d agents of %d parameters", c.Agents, c.Dim))
		}
		r, err := c.measure(seconds, workers)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// measure builds the agents, lets every one wake about once or for a quarter of the time,
// and measures for the rest.
func (c SimCase) measure(seconds float64, workers int) (SimReport, error) {
	r := SimReport{Agents: c.Agents, Dim: c.Dim}
	none := heap()
	split, err := data.Load("linear-tasks", "", 1, func(p any) error {
		if p, ok := p.(*data.LinearTasksParams); ok {
			p.Agents, p.Dim, p.Test, p.TestAgents = c.Agents, c.Dim, 1, 1
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	parts, err := data.Partition("natural", split.Train, c.Agents, 1, func(any) error { return nil })
	if err != nil {
		return r, err
	}
	r.Records = split.Train.Len()
	loaded := heap()
	r.DataBytes = float64(loaded-none) / float64(c.Agents)
	s, err := c.build(&r, split, parts, workers)
	if err != nil {
		return r, err
	}
	r.AgentBytes = (float64(heap()) - float64(loaded)) / float64(c.Agents)

	run := func(limit time.Duration, most uint64) (wakes uint64, took, cpu time.Duration, err error) {
		began, spent, first := time.Now(), processorTime(), s.Done()
		for took < limit && s.Done()-first < most && err == nil {
			err = s.Run(context.Background(), s.Done()+4096)
			took = time.Since(began)
		}
		return s.Done() - first, took, processorTime() - spent, err
	}
	limit := time.Duration(seconds * float64(time.Second))
	if _, _, _, err := run(limit/4, uint64(c.Agents)); err != nil {
		return r, err
	}
	wakes, took, cpu, err := run(limit, 1<<62)
	if err != nil {
		return r, err
	}
	r.Wakes, r.PerSecond, r.CPUMicros = wakes, float64(wakes)/took.Seconds(),
		float64(cpu.Microseconds())/float64(wakes)
	r.PeakMB = peakMemory()
	runtime.KeepAlive(split)
	s, split, parts = nil, nil, nil
	debug.FreeOSMemory()
	return r, nil
}

func (c SimCase) build(r *SimReport, split *data.Split, parts [][]int32, workers int) (sim.Runtime, error) {
	schedule, err := topology.Build(topology.Spec{Graph: "knn", Agents: c.Agents, Vectors: split.GroundTruth},
		func(any) error { return nil })
	if err != nil {
		return nil, err
	}
	g, err := schedule.At(0)
	if err != nil {
		return nil, err
	}
	r.Links = g.Links()
	m, err := model.New("logistic", model.Shape{Height: 1, Width: c.Dim, Channels: 1, Classes: 2}, nil)
	if err != nil {
		return nil, err
	}
	factory, err := algo.New("bcd", func(any) error { return nil })
	if err != nil {
		return nil, err
	}
	mechanism, err := privacy.NewGaussian(5)
	if err != nil {
		return nil, err
	}
	pool := oracle.NewPool()
	init := make(tensor.Vec, c.Dim)
	m.Init(init, rng.Public(1, "initial model"))
	agents, events := make([]sim.Agent, c.Agents), repeated{mechanism: mechanism}
	for i := range agents {
		id, n := agent.ID(i), len(parts[i])
		full := &oracle.Full{
			Model:      m,
			Records:    oracle.Records{Data: split.Train, Index: parts[i]},
			Normaliser: float64(n),
			ClipNorm:   1,
			Norm:       account.L2,
			Adjacency:  account.ReplaceOne,
			Unit:       account.Record(),
			Pool:       pool,
		}
		if err := full.Validate(); err != nil {
			return nil, err
		}
		release, err := full.Describe(&agent.Query{Oracle: oracle.FullName, At: init})
		if err != nil {
			return nil, err
		}
		event, err := events.of(release)
		if err != nil {
			return nil, err
		}
		filter, err := account.NewCountFilter(event, 1<<40)
		if err != nil {
			return nil, err
		}
		alg, err := factory(agent.Env{
			Self:       id,
			Agents:     c.Agents,
			Dim:        c.Dim,
			Records:    n,
			MaxRecords: 100,
			Rounds:     1 << 40,
			Init:       init,
		})
		if err != nil {
			return nil, err
		}
		gate := privacy.NewSimulatedGate(ledger.NewMemory(filter), mechanism,
			map[string]privacy.Oracle{oracle.FullName: full}, 1, id)
		agents[i] = sim.Agent{Algorithm: alg, Gate: gate}
	}
	return sim.New(sim.Config{
		Agents:   agents,
		Schedule: schedule,
		Dim:      c.Dim,
		Pacing:   agent.PacingWakes,
		Steps:    1 << 40,
		Workers:  workers,
		Seed:     1,
	})
}

// heap is what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peakMemory is the process's largest resident set, in MB, or what the runtime has asked
// for where the system does not say.
func peakMemory() float64 {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(b)) {
			var kb float64
			if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
				return kb / 1e3
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys) / 1e6
}

// WriteSimTable writes the reports for reading.
func WriteSimTable(w io.Writer, reports []SimReport) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t,
		"agents\tparameters\tneighbors\trecords\tprivate wakes a second\tprocessor time a wake\tbytes an "+
			"agent\tof data\tpeak memory")
	for _, r := range reports {
		fmt.Fprintf(t, "%d\t%d\t%.1f\t%.1f\t%s\t%.1f us\t%.0f\t%.0f\t%.2f GB\n", r.Agents, r.Dim,
			2*float64(r.Links)/float64(r.Agents),
			float64(r.Records)/float64(r.Agents), count(r.PerSecond), r.CPUMicros, r.AgentBytes, r.DataBytes,
			r.PeakMB/1e3)
	}
	return t.Flush()
}

// repeated makes the events of agents whose releases differ in their parts alone, and
// mostly not: an event costs microseconds.
type repeated struct {
	mechanism privacy.Mechanism
	parts     []account.Part
	event     account.Event
}

func (e *repeated) of(r account.Release) (account.Event, error) {
	if e.parts == nil || !slices.Equal(r.Parts, e.parts) {
		made, err := e.mechanism.Event(r)
		if err != nil {
			return made, err
		}
		e.parts, e.event = slices.Clone(r.Parts), account.Shared(made)
	}
	return e.event, nil
}
