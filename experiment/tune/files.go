package tune

import (
	"fmt"

	"sotto/experiment"
)

// trial is the run file of trial n with the given values of the space.
func (t *Search) trial(n uint64, values []string) (*experiment.File, error) {
	doc, err := t.document()
	if err != nil {
		return nil, err
	}
	doc.Drop(experiment.TuneSection)
	set := func(from string, list ...string) error {
		for _, v := range list {
			if err := doc.Set(from, v); err != nil {
				return err
			}
		}
		return nil
	}
	if err := set("["+experiment.TuneSection+"] set", t.p.Set...); err != nil {
		return nil, err
	}
	if err := set("["+experiment.TuneSection+".space]", t.space.settings(values)...); err != nil {
		return nil, err
	}
	own := []string{
		fmt.Sprintf("trial=%d", t.draws.trialNumber(n)),
		fmt.Sprintf("evaluate.validation=%v", t.p.Validation),
	}
	if t.cost == experiment.CostCharged {
		own = append(own, "evaluate.score="+t.p.Metric,
			fmt.Sprintf("evaluate.score_noise_multiplier=%v", t.p.ScoreNoise))
		if t.p.ScoreClip != 0 {
			own = append(own, fmt.Sprintf("evaluate.score_clip=%v", t.p.ScoreClip))
		}
	} else {
		own = append(own, "evaluate.on=validation")
	}
	if err := set("["+experiment.TuneSection+"]", own...); err != nil {
		return nil, err
	}
	if t.cost == experiment.CostNotIncluded {
		if err := stamp(doc, t.history(0)); err != nil {
			return nil, err
		}
	}
	return experiment.Decode(doc)
}

// history is the [tuned] section of what the search finds.
func (t *Search) history(score float64) *experiment.TunedParams {
	return &experiment.TunedParams{
		Method: t.p.Method,
		Data:   t.data,
		Metric: t.p.Metric,
		Score:  score,
		Cost:   t.cost,
		Secret: t.draws.secret != nil,
	}
}

// best is the run file with the values that were found, stamped with how.
func (t *Search) best(values []string, found *experiment.TunedParams, comment string) ([]byte, error) {
	doc, err := t.document()
	if err != nil {
		return nil, err
	}
	doc.Drop(experiment.TuneSection)
	for _, v := range t.space.settings(values) {
		if err := doc.Set("["+experiment.TuneSection+".space]", v); err != nil {
			return nil, err
		}
	}
	if err := stamp(doc, found); err != nil {
		return nil, err
	}
	b, err := doc.Encode()
	if err != nil {
		return nil, err
	}
	return append([]byte(comment), b...), nil
}
