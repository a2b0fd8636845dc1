//go:build !operator

package calculator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/privacy/account"
)

// mechanismFlags describe a run of equal releases on the command line.
type mechanismFlags struct {
	noiseFlags
	sampler         samplerFlags
	adjacency, unit string
	group           int
	accountant      string
	draws, steps    int
	shift           float64 // of Gaussian noise, where it is given
	printing
}

// printing is how figures are printed, and what there is beside text and JSON.
type printing struct {
	output cli.Output
	more   []string
}

// samplerFlags describe who is in a step.
type samplerFlags struct {
	name string
	account.Sampler
	given *pflag.FlagSet // all that are given
}

// samplerOf are the flags that samplers read.
var samplerOf = map[account.SamplerKind][]string{
	account.FullBatch:        nil,
	account.Poisson:          {"sample-rate"},
	account.FixedSize:        {"population", "batch-size"},
	account.TruncatedPoisson: {"sample-rate", "population", "max-batch"},
	account.Shuffled:         {"period"},
	account.Cyclic:           {"period"},
}

// unread refuses flags of other samplers.
func (s *samplerFlags) unread(kind account.SamplerKind, name string) (err error) {
	s.given.Visit(func(f *pflag.Flag) {
		for _, all := range samplerOf {
			if slices.Contains(all, f.Name) && !slices.Contains(samplerOf[kind], f.Name) {
				err = cli.Usagef("--%s: found %s, allowed: nothing with sampler %s", f.Name, f.Value, name)
			}
		}
	})
	return err
}

// noiseFlags describe the noise of one release.
type noiseFlags struct {
	mechanism              string
	noise                  float64 // multiplier
	scale, sensitivity     float64
	bound, probability     float64
	stepEpsilon, stepDelta float64
	dim, category          int
}

func (m *mechanismFlags) registerPair(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.adjacency, "adjacency", "add-remove", "add-remove, replace-one or zero-out")
	f.StringVar(&m.unit, "unit", "record", "record, group (with --group) or owner")
	f.IntVar(&m.group, "group", 0, "size of the protected group")
	f.StringVar(&m.accountant, "accountant", "",
		"pld, rdp, gdp, kov or exact; default: the tightest that supports the mechanism")
}

func (m *mechanismFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.mechanism, "mechanism", "gaussian",
		"gaussian, laplace, discrete-gaussian, discrete-laplace, truncated-laplace, truncated-gaussian, "+
			"randomized-response or eps-delta")
	f.Float64Var(&m.noise, "noise-multiplier", 0,
		"gaussian: noise standard deviation divided by max_grad_norm, under every adjacency")
	f.Float64Var(&m.shift, "shift", 0,
		"gaussian: sensitivity divided by max_grad_norm, as a ledger's events state it (with exact noise "+
			"above 1, because it includes the rounding of sums, and for several records at least "+
			"1.00098); default: 1, or 2 with replace-one")
	f.Float64Var(&m.scale, "scale", 0,
		"other mechanisms: Laplace b, discrete Gaussian sigma or the scale of truncated noise, in the "+
			"units of --sensitivity")
	f.Float64Var(&m.sensitivity, "sensitivity", 1,
		"sensitivity under the adjacency, in the units of --scale (laplace: in L1 norm)")
	f.Float64Var(&m.bound, "bound", 0, "truncated noise: largest absolute value")
	f.Float64Var(&m.probability, "probability", 0,
		"randomized response: probability of answering uniformly at random")
	f.IntVar(&m.category, "categories", 2, "randomized response: number of possible answers")
	f.Float64Var(&m.stepEpsilon, "step-epsilon", 0, "eps-delta: epsilon of one step")
	f.Float64Var(&m.stepDelta, "step-delta", 0, "eps-delta: delta of one step")
	f.IntVar(&m.dim, "dim", 1, "discrete Gaussian: number of coordinates")
	m.sampler.given = f
	f.StringVar(&m.sampler.name, "sampler", "",
		"poisson, fixed-size, truncated-poisson, shuffled, cyclic or none; default: poisson with "+
			"--sample-rate, else none")
	f.Float64Var(&m.sampler.SampleRate, "sample-rate", 0,
		"poisson: probability that a record is in a step, above 0 and at most 1")
	f.IntVar(&m.sampler.Population, "population", 0,
		"fixed-size and truncated-poisson: public number of records")
	f.IntVar(&m.sampler.BatchSize, "batch-size", 0, "fixed-size: records in a step")
	f.IntVar(&m.sampler.MaxBatchSize, "max-batch", 0, "truncated-poisson: largest batch")
	f.IntVar(&m.sampler.Period, "period", 0, "shuffled and cyclic: steps in an epoch")
	f.IntVar(&m.draws, "micro-batches", 1,
		"number of Poisson micro-batches that are summed before noise is drawn once")
	f.IntVar(&m.steps, "steps", 1, "number of releases")
	m.registerPair(c)
	m.output.Register(c, m.more...)
}

// pair reads adjacency and unit.
func (m *mechanismFlags) pair() (account.Adjacency, account.Unit, error) {
	a, err := account.ParseAdjacency(m.adjacency)
	if err != nil {
		return 0, account.Unit{}, err
	}
	switch {
	case m.unit == "group" && m.group >= 1 || m.unit == "record" && m.group > 0:
		return a, account.Group(m.group), nil
	case m.group < 0:
		return 0, account.Unit{}, config.Bad("--group", m.group, "the size of a group, above 0")
	case m.unit == "record":
		return a, account.Record(), nil
	case m.unit == "owner" && m.group == 0:
		return a, account.Owner(), nil
	}
	return 0, account.Unit{}, config.Bad("--unit", m.unit, "record, owner, or group with --group above 0")
}

// withAccountant calls f with the accountant that was asked for; without one, with the
// tightest that supports the events.
func (m *mechanismFlags) withAccountant(f func(name string) error) error {
	if err := m.output.Check(m.more...); err != nil {
		return err
	}
	if m.accountant != "" {
		return f(m.accountant)
	}
	var err error
	for _, name := range []string{"exact", "pld", "rdp"} {
		if err = f(name); err == nil || !errors.Is(err, account.ErrUnsupported) {
			return err
		}
	}
	return err
}

// noiseOf are the flags that say how much noise a mechanism has, the one that must be
// given first.
var noiseOf = map[string][]string{
	"gaussian":            {"noise-multiplier", "shift"},
	"laplace":             {"scale", "sensitivity"},
	"discrete-laplace":    {"scale", "sensitivity"},
	"discrete-gaussian":   {"scale", "sensitivity", "dim"},
	"truncated-laplace":   {"scale", "sensitivity", "bound"},
	"truncated-gaussian":  {"scale", "sensitivity", "bound"},
	"randomized-response": {"probability", "categories"},
	"eps-delta":           {"step-epsilon", "step-delta"},
}

// needNoise refuses a question that does not say how much noise there is, or says it by a
// flag that the mechanism does not read.
func (m *mechanismFlags) needNoise(cmd *cobra.Command) error {
	reads := noiseOf[m.mechanism]
	if err := m.unreadNoise(cmd); err != nil {
		return err
	}
	if reads == nil || cmd.Flags().Changed(reads[0]) {
		return nil
	}
	return cli.Usagef("--%s: found nothing, allowed: a value with mechanism %s", reads[0], m.mechanism)
}

// unreadNoise refuses flags of other mechanisms.
func (m *mechanismFlags) unreadNoise(cmd *cobra.Command) error {
	reads := noiseOf[m.mechanism]
	var wrong *pflag.Flag
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, all := range noiseOf {
			if slices.Contains(all, f.Name) && !slices.Contains(reads, f.Name) {
				wrong = f
			}
		}
	})
	if reads != nil && wrong != nil {
		return cli.Usagef("--%s: found %s, allowed: nothing with mechanism %s, which has --%s", wrong.Name,
			wrong.Value, m.mechanism, strings.Join(reads, ", --"))
	}
	return nil
}

// withPlan is withAccountant with the run that the flags describe.
func (m *mechanismFlags) withPlan(f func(name string, plan account.Plan) error) error {
	return m.withAccountant(func(name string) error {
		plan, err := m.plan(name)
		if err != nil {
			return err
		}
		return f(name, plan)
	})
}

// inner is the event of one release on a fixed batch, at a noise scale over the clip or
// sensitivity. shift is that of Gaussian noise.
func (m *noiseFlags) inner(noise, shift float64) (account.Event, error) {
	relative := m.scale / m.sensitivity
	switch m.mechanism {
	case "gaussian":
		return account.Gaussian(noise, shift)
	case "laplace":
		return account.Laplace(noise)
	case "discrete-laplace":
		return account.DiscreteLaplace(1/m.scale, int(m.sensitivity))
	case "discrete-gaussian":
		return account.DiscreteGaussian(m.scale, m.sensitivity, int(math.Ceil(m.sensitivity)), m.dim)
	case "truncated-laplace":
		return account.BoundedNoise(account.BoundedLaplace, relative, m.bound/m.sensitivity, 0)
	case "truncated-gaussian":
		return account.BoundedNoise(account.BoundedGaussian, relative, m.bound/m.sensitivity, 0)
	case "randomized-response":
		return account.RandomizedResponse(m.probability, m.category)
	case "eps-delta":
		return account.EpsDelta(m.stepEpsilon, m.stepDelta)
	}
	return account.Event{}, config.Bad("--mechanism", m.mechanism,
		"gaussian, laplace, discrete-gaussian, discrete-laplace, truncated-laplace, truncated-gaussian, "+
			"randomized-response, eps-delta")
}

func (m *mechanismFlags) samplerAt(rate float64) (account.Sampler, error) {
	name := m.sampler.name
	if name == "" {
		if name = "none"; m.sampler.SampleRate != 0 || m.sampler.given.Changed("sample-rate") {
			name = "poisson"
		}
	}
	kind, err := account.ParseSampler(name)
	if err != nil {
		return account.Sampler{}, err
	}
	if kind == account.Poisson && !(m.sampler.SampleRate > 0 && m.sampler.SampleRate <= 1) {
		return account.Sampler{}, config.Bad("--sample-rate", m.sampler.SampleRate, "above 0 and at most 1")
	}
	if err := m.sampler.unread(kind, name); err != nil {
		return account.Sampler{}, err
	}
	s := m.sampler.Sampler
	s.Kind, s.SampleRate = kind, rate
	return s, nil
}

// plan is the run that the flags describe.
func (m *mechanismFlags) plan(accountant string) (account.Plan, error) {
	a, unit, err := m.pair()
	if err != nil {
		return account.Plan{}, err
	}
	if _, err := m.samplerAt(m.sampler.SampleRate); err != nil {
		return account.Plan{}, err
	}
	if !(m.sensitivity > 0) || math.IsInf(m.sensitivity, 1) {
		return account.Plan{}, config.Bad("--sensitivity", m.sensitivity, "above 0 and finite")
	}
	if m.mechanism == "discrete-laplace" && (m.sensitivity != math.Trunc(m.sensitivity) || !(m.scale > 0)) {
		return account.Plan{}, config.Bad("--sensitivity", m.sensitivity,
			"a whole number, with --scale above 0, for discrete-laplace")
	}
	if m.steps < 0 {
		return account.Plan{}, config.Bad("--steps", m.steps, "at least 0")
	}
	noise, shift := m.noise, account.ClipShift(a)
	if m.sampler.given.Changed("shift") {
		if shift = m.shift; m.mechanism != "gaussian" || !(shift > 0) || math.IsInf(shift, 1) {
			return account.Plan{}, config.Bad("--shift", shift, "above 0 and finite, with mechanism gaussian")
		}
	}
	if m.mechanism == "laplace" {
		noise = m.scale / m.sensitivity
	}
	step := func(noise, rate float64) (account.Event, error) {
		inner, err := m.inner(noise, shift)
		if err != nil {
			return account.Event{}, err
		}
		sampler, err := m.samplerAt(rate)
		if err != nil {
			return account.Event{}, err
		}
		r := account.Release{
			Oracle:    "calculator",
			Adjacency: a,
			Unit:      unit,
			Sampler:   sampler,
			Draws:     m.draws,
			Scale:     1,
			Parts: []account.Part{{Name: "value", Clip: 1, Shift: account.ClipShift(a), Norm: account.L2,
				Dim: m.dim}},
		}
		return r.Sampled(inner)
	}
	return account.Plan{
		Accountant:      accountant,
		Adjacency:       a,
		Unit:            unit,
		NoiseMultiplier: noise,
		SampleRate:      m.sampler.SampleRate,
		Steps:           []account.PlanStep{{Event: step, Times: m.steps}},
	}, nil
}

// composed is the plan's accountant after the run.
func (m *mechanismFlags) composed(p account.Plan) (account.Accountant, error) {
	acc, err := account.New(p.Accountant, p.Adjacency, p.Unit)
	if err != nil {
		return nil, err
	}
	ev, err := p.Steps[0].Event(p.NoiseMultiplier, p.SampleRate)
	if err != nil {
		return nil, err
	}
	return acc, acc.Compose(ev, p.Steps[0].Times)
}

// print writes v as JSON or the text.
func (m *mechanismFlags) print(w io.Writer, v any, format string, args ...any) error {
	if m.output.JSON() {
		return json.NewEncoder(w).Encode(v)
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}
