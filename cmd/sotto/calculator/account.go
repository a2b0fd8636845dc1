//go:build !operator

// Package calculator is "sotto account" and "sotto topology": what guarantees and graphs
// cost and give, without a run.
package calculator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/internal/decimal"
	"sotto/internal/jsontext"
	"sotto/privacy/account"
	"sotto/report/plot"
)

// New makes "sotto account".
func New() *cobra.Command {
	return cli.Group("account",
		"Privacy calculator: epsilon, delta, noise, steps and rates of a run, without running it",
		newAccountEpsilon(), newAccountDelta(), newAccountNoise(), newAccountSteps(), newAccountRate(),
		newAccountCompose(), newAccountCurve(), newAccountNetwork(), newAccountStatement())
}

// figures is the JSON of "account epsilon", "delta" and "compose".
type figures struct {
	Epsilon    any    `json:"epsilon"` // bounds, or the number that was asked about
	Delta      any    `json:"delta"`
	Accountant string `json:"accountant"`
	Adjacency  string `json:"adjacency"`
	Unit       string `json:"unit"`
}

// by says what a figure holds for, and who has computed it.
func by(accountant string, a account.Adjacency, u account.Unit) string {
	return fmt.Sprintf("%v, %v, accountant %s", a, u, accountant)
}

func newAccountEpsilon() *cobra.Command {
	var m mechanismFlags
	var delta float64
	c := &cobra.Command{
		Use:     "epsilon",
		Short:   "Epsilon for a given delta",
		Example: "  sotto account epsilon --noise-multiplier 1 --sample-rate 0.01 --steps 1000 --delta 1e-5",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.needNoise(cmd); err != nil {
				return err
			}
			defer patience(cmd)()
			return m.withPlan(func(name string, plan account.Plan) error {
				i, err := account.Epsilon(plan, delta)
				if err != nil {
					return err
				}
				return m.print(cmd.OutOrStdout(), figures{account.StatedInterval(i), delta, name,
					plan.Adjacency.String(), plan.Unit.String()},
					"epsilon %s upper, %s lower, at delta %g (%s)\n", rundir.FormatFine(i.Upper),
					rundir.FormatBound(i.Lower, 6, false), delta, by(name, plan.Adjacency, plan.Unit))
			})
		},
	}
	m.register(c)
	c.Flags().Float64Var(&delta, "delta", 1e-5, "delta, 0 to 1")
	return c
}

func newAccountDelta() *cobra.Command {
	var m mechanismFlags
	var epsilon float64
	c := &cobra.Command{
		Use:   "delta",
		Short: "Delta for a given epsilon",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.needNoise(cmd); err != nil {
				return err
			}
			defer patience(cmd)()
			return m.withPlan(func(name string, plan account.Plan) error {
				acc, err := m.composed(plan)
				if err != nil {
					return err
				}
				i, err := deltaOf(acc, name, epsilon)
				if err != nil {
					return err
				}
				return m.print(cmd.OutOrStdout(), figures{epsilon, account.StatedInterval(i), name,
					plan.Adjacency.String(), plan.Unit.String()},
					"delta %s upper, %s lower, at epsilon %g (%s)\n", decimal.Digits(i.Upper, 6, true),
					decimal.Digits(i.Lower, 6, false), epsilon, by(name, plan.Adjacency, plan.Unit))
			})
		},
	}
	m.register(c)
	c.Flags().Float64Var(&epsilon, "epsilon", 1, "epsilon, at least 0")
	return c
}

func deltaOf(acc account.Accountant, name string, epsilon float64) (account.Interval, error) {
	d, ok := acc.(account.DeltaAccountant)
	if !ok {
		return account.Interval{}, fmt.Errorf("%w: accountant %s gives no delta; supported: pld, exact, rdp",
			account.ErrUnsupported, name)
	}
	return d.Delta(epsilon)
}

func newAccountNoise() *cobra.Command {
	var m mechanismFlags
	var target account.Budget
	c := &cobra.Command{
		Use:     "noise",
		Short:   "Smallest noise that meets an epsilon and delta",
		Example: "  sotto account noise --target-epsilon 1 --delta 1e-5 --sample-rate 0.01 --steps 1000",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.noise != 0 || m.scale != 0 {
				return cli.Usagef("account noise searches for the noise: no --noise-multiplier or --scale " +
					"beside it")
			}
			key, ok := map[string]string{"gaussian": "noise_multiplier", "laplace": "scale"}[m.mechanism]
			if !ok {
				return cli.Usagef("account noise --mechanism: found %q, allowed: gaussian, laplace",
					m.mechanism)
			}
			if err := m.unreadNoise(cmd); err != nil {
				return err
			}
			defer patience(cmd)()
			return m.withPlan(func(name string, plan account.Plan) error {
				res, err := account.Noise(plan, target)
				if err != nil {
					return err
				}
				noise := res.NoiseMultiplier
				if m.mechanism == "laplace" {
					noise *= m.sensitivity
				}
				v := map[string]any{key: noise, "epsilon": account.StatedInterval(res.Epsilon),
					"delta": target.Delta, "accountant": name, "adjacency": plan.Adjacency.String(),
					"unit": plan.Unit.String()}
				return m.print(cmd.OutOrStdout(), v, "%s %s: epsilon %s upper, %s lower, at delta %g (%s)\n",
					key, decimal.Digits(noise, 6, true), // more noise is less epsilon
					rundir.FormatFine(res.Epsilon.Upper), rundir.FormatBound(res.Epsilon.Lower, 6, false),
					target.Delta, by(name, plan.Adjacency, plan.Unit))
			})
		},
	}
	m.register(c)
	budgetFlags(c, &target)
	return c
}

func newAccountSteps() *cobra.Command {
	var m mechanismFlags
	var target account.Budget
	c := &cobra.Command{
		Use:   "steps",
		Short: "Largest number of steps that meets an epsilon and delta",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("steps") {
				return cli.Usage(errors.New("account steps searches for the steps: no --steps beside it"))
			}
			if err := m.needNoise(cmd); err != nil {
				return err
			}
			defer patience(cmd)()
			return m.withPlan(func(name string, plan account.Plan) error {
				n, err := account.Steps(plan, target)
				if err != nil {
					return err
				}
				return m.print(cmd.OutOrStdout(), map[string]any{"steps": n, "delta": target.Delta,
					"accountant": name, "adjacency": plan.Adjacency.String(), "unit": plan.Unit.String()},
					"%d steps (%s)\n", n, by(name, plan.Adjacency, plan.Unit))
			})
		},
	}
	m.register(c)
	budgetFlags(c, &target)
	return c
}

func newAccountRate() *cobra.Command {
	var m mechanismFlags
	var target account.Budget
	var records float64
	c := &cobra.Command{
		Use: "rate",
		Short: "Largest Poisson sample rate that meets an epsilon and delta (with --records also the " +
			"expected batch size)",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("sample-rate") || m.sampler.name != "" && m.sampler.name != "poisson" {
				return cli.Usage(
					errors.New("account rate searches for the Poisson sample rate: no --sample-rate or " +
						"other --sampler beside it"))
			}
			if cmd.Flags().Changed("records") && !(records >= 1 && records <= 1<<53) {
				return cli.Usagef("--records: found %g, allowed: 1 to 2^53", records)
			}
			if err := m.needNoise(cmd); err != nil {
				return err
			}
			defer patience(cmd)()
			m.sampler.SampleRate, m.sampler.name = .5, "poisson"
			return m.withPlan(func(name string, plan account.Plan) error {
				res, err := account.Rate(plan, target)
				if err != nil {
					return err
				}
				v := map[string]any{"sample_rate": res.SampleRate, "delta": target.Delta, "accountant": name,
					"adjacency": plan.Adjacency.String(), "unit": plan.Unit.String()}
				text := fmt.Sprintf("sample rate %s (%s)", decimal.Digits(res.SampleRate, 6, false),
					by(name, plan.Adjacency, plan.Unit))
				if records > 0 {
					v["batch_size"] = math.Floor(res.SampleRate * records)
					text += fmt.Sprintf(", expected batch size %.0f of %.0f records",
						math.Floor(res.SampleRate*records), records)
				}
				return m.print(cmd.OutOrStdout(), v, "%s\n", text)
			})
		},
	}
	m.register(c)
	budgetFlags(c, &target)
	c.Flags().Float64Var(&records, "records", 0, "public number of records, to print an expected batch size")
	return c
}

func budgetFlags(c *cobra.Command, b *account.Budget) {
	c.Flags().Float64Var(&b.Epsilon, "target-epsilon", 1, "epsilon to meet, above 0")
	c.Flags().Float64Var(&b.Delta, "delta", 1e-5, "delta to meet, 0 to below 1")
}

func newAccountCompose() *cobra.Command {
	var m mechanismFlags
	var delta float64
	c := &cobra.Command{
		Use:   "compose FILE",
		Short: "Epsilon of a JSON list of events, in the form in which ledgers hold them",
		Args:  cli.Exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			events, err := readEvents(args[0])
			if err != nil {
				return err
			}
			a, unit, err := m.pair()
			if err != nil {
				return err
			}
			defer patience(cmd)()
			return m.withAccountant(func(name string) error {
				acc, err := account.New(name, a, unit)
				if err != nil {
					return err
				}
				for i, ev := range events {
					if err := acc.Compose(ev, 1); err != nil {
						return fmt.Errorf("%s: event %d: %w", args[0], i, err)
					}
				}
				e, err := acc.Epsilon(delta)
				if err != nil {
					return err
				}
				return m.print(cmd.OutOrStdout(),
					figures{account.StatedInterval(e), delta, name, a.String(), unit.String()},
					"epsilon %s upper, %s lower, at delta %g (%s)\n", rundir.FormatFine(e.Upper),
					rundir.FormatBound(e.Lower, 6, false), delta, by(name, a, unit))
			})
		},
	}
	m.registerPair(c)
	m.output.Register(c)
	c.Flags().Float64Var(&delta, "delta", 1e-5, "delta, 0 to 1")
	return c
}

// readEvents reads a JSON array of events, or one event.
func readEvents(path string) ([]account.Event, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		raw = []json.RawMessage{b}
	}
	events := make([]account.Event, len(raw))
	for i, r := range raw {
		if err := json.Unmarshal(r, &events[i]); err != nil {
			err := jsontext.Error(path, r, err, "an event or a list of events").(*config.Error)
			err.Line, err.Key = 0, strings.TrimSuffix(fmt.Sprintf("event %d: %s", i, err.Key), ": ")
			return nil, err
		}
	}
	return events, nil
}

func newAccountCurve() *cobra.Command {
	m := mechanismFlags{printing: printing{more: []string{"csv", "svg"}}}
	var top float64
	var points int
	c := &cobra.Command{
		Use:   "curve",
		Short: "Delta as a function of epsilon, as CSV, SVG (log10 of delta) or JSON",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if points < 2 || points > 100_000 {
				return cli.Usagef("--points: found %d, allowed: 2 to 100000", points)
			}
			if !(top > 0) || math.IsInf(top, 1) {
				return cli.Usagef("--max-epsilon: found %g, allowed: above 0 and finite", top)
			}
			if err := m.needNoise(cmd); err != nil {
				return err
			}
			defer patience(cmd)()
			return m.withPlan(func(name string, plan account.Plan) error {
				acc, err := m.composed(plan)
				if err != nil {
					return err
				}
				return writeCurve(cmd.OutOrStdout(), acc, name, top, points, m.output)
			})
		},
	}
	m.register(c)
	c.Flags().Float64Var(&top, "max-epsilon", 10, "largest epsilon")
	c.Flags().IntVar(&points, "points", 101, "number of points")
	cli.Formerly(c, "format", "output")
	return c
}

// curvePoint is a point of the privacy curve.
type curvePoint struct {
	Epsilon float64                `json:"epsilon"`
	Delta   account.StatedInterval `json:"delta"`
}

func writeCurve(w io.Writer, acc account.Accountant, name string, top float64, points int,
	output cli.Output) error {
	curve := plot.Curve{Name: name}
	rows := make([]account.Interval, points)
	for i := range rows {
		eps := top * float64(i) / float64(points-1)
		var err error
		if rows[i], err = deltaOf(acc, name, eps); err != nil {
			return err
		}
		curve.Points = append(curve.Points, plot.Point{
			X:    eps,
			Y:    math.Log10(rows[i].Upper),
			Low:  math.Log10(rows[i].Lower),
			High: math.Log10(rows[i].Upper),
		})
	}
	switch {
	case output.JSON():
		points := make([]curvePoint, len(rows))
		for i, r := range rows {
			points[i] = curvePoint{curve.Points[i].X, account.StatedInterval(r)}
		}
		return json.NewEncoder(w).Encode(points)
	case output == "svg":
		return plot.WriteSVG(w, plot.Figure{
			Name:   "curve",
			Title:  "Privacy curve",
			XLabel: "epsilon",
			YLabel: "log10 delta",
			Curves: []plot.Curve{curve},
		})
	}
	fmt.Fprintln(w, "epsilon,delta_lower,delta_upper")
	for i, r := range rows {
		if _, err := fmt.Fprintf(w, "%s,%s,%s\n", plain(curve.Points[i].X), plain(r.Lower),
			plain(r.Upper)); err != nil {
			return err
		}
	}
	return nil
}

func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
