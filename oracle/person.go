package oracle

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// Persons says what one person with several records adds to a sum of gradients: of the
// first MaxRows of its records in the order of the file the mean or the sum of their
// gradients, scaled as a whole to L2 norm at most the clip. Other records of the person
// are not read. Which ones are kept is a rule for each person alone. The zero value is
// for units other than a person.
type Persons struct {
	// MaxRows is how many records of a person are read, the first ones: a public number,
	// 1 to 1,024.
	MaxRows int `toml:"max_rows_per_person,omitempty"`
	// Gradient says what is clipped for each person: the "mean" (default) or the "sum" of
	// the gradients of the person's records.
	Gradient string `toml:"person_gradient,omitempty"`
}

// Values of the key person_gradient.
const (
	MeanOfPerson = "mean"
	SumOfPerson  = "sum"
)

// maxRows bounds the records of a person that are read.
const maxRows = 1024

// Validate names the first key that cannot be used in the unit.
func (p *Persons) Validate(u account.Unit) error {
	switch {
	case u.Kind != account.UnitPerson && p.MaxRows != 0:
		return config.Bad("max_rows_per_person", p.MaxRows, "nothing with unit "+u.String())
	case u.Kind != account.UnitPerson && p.Gradient != "":
		return config.Bad("person_gradient", p.Gradient, "nothing with unit "+u.String())
	case u.Kind != account.UnitPerson:
		return nil
	case p.MaxRows < 1 || p.MaxRows > maxRows:
		return config.Bad("max_rows_per_person", p.MaxRows,
			fmt.Sprintf("1 to %d with unit person: a public number of records that one person has at most",
				maxRows))
	case p.Gradient != "" && p.Gradient != MeanOfPerson && p.Gradient != SumOfPerson:
		return config.Bad("person_gradient", p.Gradient, "mean or sum")
	}
	return nil
}

// people are the persons of an owner's records, in the order of their first ones.
type people struct {
	rows [][]int32 // of each, at most MaxRows
	all  []int32   // their numbers here, 0, 1, ...
}

// gathered sorts records by persons, and keeps the first rows of each.
func gathered(r Records, most int) people {
	var p people
	at := map[int32]int{}
	for _, row := range r.Index {
		u := r.Data.Units[row]
		k, ok := at[u]
		if !ok {
			k = len(p.rows)
			at[u], p.rows, p.all = k, append(p.rows, nil), append(p.all, int32(k))
		}
		if len(p.rows[k]) < most {
			p.rows[k] = append(p.rows[k], row)
		}
	}
	return p
}

// perPerson reports whether the unit is a person.
func (g *Gradient) perPerson() bool { return g.Unit.Kind == account.UnitPerson }

// validatePersons refuses what a sum over persons has not.
func (g *Gradient) validatePersons() error {
	if err := g.Sums.Persons.Validate(g.Unit); err != nil {
		return err
	}
	switch d := g.Records.Data; {
	case !g.perPerson():
		return nil
	case g.One > 0:
		return config.Bad("unit", g.Unit, "record, where a batch is one record")
	case g.Augment != (Augmentation{}):
		return config.Bad("augmentations", g.Augment.Views, "nothing with unit person")
	case g.Sums.Moving:
		return config.Bad("arrival", "records that arrive", "nothing with unit person")
	case d != nil && d.Units == nil:
		return config.Bad("unit_column", "nothing",
			"the column that names the person of a record, with unit person")
	}
	return nil
}

// count is how many units the records are.
func (g *Gradient) count() int {
	if g.perPerson() {
		return len(g.Sums.people.rows)
	}
	return len(g.Records.Index)
}

// personSumError bounds, over the clip, by how much more than the clip rounding lets one
// person move the sum. What a person adds is formed and scaled in double precision, and
// is never longer than the clip; only the additions of n persons lose, 2^-53 of n clips
// each at most, for either neighbor.
func (g *Gradient) personSumError() float64 {
	return twoBits(max(2*g.Sums.wide()*1.001, leastCharged))
}

// eachPerson draws the persons of a batch, each with probability SampleRate in every one
// of the Draws, and hands out the gradient v of each and the factor by which it has norm
// at most the clip less 2^-20 of it. Both depend on that person's records and the query's
// point only: its records are summed in their order, from zero. Who has a record without
// a finite gradient, or a gradient without a finite norm, is not handed out, and counts
// as one beyond the clip. v is valid until the next one.
//
// It returns the number of drawn persons within the clip less that of the others.
func (g *Gradient) eachPerson(q *agent.Query, sample *rng.Stream, f func(v tensor.Vec, norm, factor float64),
) (halves int) {
	s := g.Pool.get()
	defer g.Pool.put(s)
	s.rows = s.rows[:0]
	for range max(1, g.Draws) {
		s.rows = poisson(s.rows, g.Sums.people.all, g.SampleRate, sample)
	}
	clip := clipNorm(q, g.ClipNorm)
	limit := clip * (1 - personShrink)
	v := s.vector(g.Model.Dim())
	defer v.Zero()
	for _, k := range s.rows {
		rows := g.Sums.people.rows[k]
		v.Zero()
		unseen := 0
		for lo := 0; lo < len(rows); lo += chunk {
			b := s.gather(g.Records.Data, rows[lo:min(lo+chunk, len(rows))], &g.Augment, sample)
			unseen += g.Model.ClippedGradientSum(v, q.At, b, math.Inf(1), &s.work).NonFinite
		}
		factor := 1.
		if g.Sums.Persons.Gradient != SumOfPerson {
			factor = 1 / float64(len(rows))
		}
		norm := factor * math.Sqrt(tensor.SumSquares(v))
		if unseen > 0 || !(norm <= math.MaxFloat64) {
			halves--
			continue
		}
		if halves++; norm > limit {
			halves -= 2
			factor *= limit / norm
		}
		f(v, min(norm, limit), factor)
	}
	return halves
}

// personShrink is taken off the clip: norms are summed, and products formed, in double
// precision, so that it covers every rounding. It is that of model.GridModel.
const personShrink = 0x1p-20

// addPersons is Evaluate over persons, in double precision.
func (g *Gradient) addPersons(dst *privacy.Value, n int, q *agent.Query, sample *rng.Stream) (halves int) {
	wide := dst.Widen(n)[:g.Model.Dim()]
	halves = g.eachPerson(q, sample, func(v tensor.Vec, _, factor float64) {
		for i, x := range v {
			wide[i] += factor * float64(x)
		}
	})
	if clipNorm(q, g.ClipNorm) > 1e20 { // only then may a sum be beyond float32
		for i, x := range wide {
			wide[i] = max(-math.MaxFloat32, min(math.MaxFloat32, x))
		}
	}
	return halves
}

// Bounds of model.GridModel: a step below the first has no finite reciprocal, and who has
// as many steps as the second adds nothing.
const (
	leastStep = 0x1p-1000
	mostSteps = 0x1p62
)

// addPersonsOnGrid is EvaluateGrid over persons: each coordinate of a person's gradient
// is divided by step and truncated toward zero, which only shortens. A person therefore
// adds an integer vector of L2 norm at most clip/step.
func (g *Gradient) addPersonsOnGrid(dst []int64, q *agent.Query, step float64, sample *rng.Stream,
) (halves int) {
	if !(step >= leastStep) || math.IsInf(step, 1) {
		return 0
	}
	return g.eachPerson(q, sample, func(v tensor.Vec, norm, factor float64) {
		if !(norm/step < mostSteps) {
			return
		}
		k := factor / step
		for i, x := range v {
			dst[i] += int64(k * float64(x))
		}
	})
}
