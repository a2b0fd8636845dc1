package tune

import (
	"errors"
	"fmt"
	"sync"

	"sotto/config"
	"sotto/experiment"
)

// mostDraws is how often values are drawn for one trial before a search gives up.
const mostDraws = 100

// candidate draws the values of trial n, counted from 1.
func (t *Search) candidate(n uint64) []string {
	return t.space.candidate(t.draws.stream("candidate", n))
}

// runnable is candidate among values with which can finds nothing wrong. Others are no
// candidates, and are drawn again: trials are of one law in any case, that of the space
// without them, as private selection needs it.
func (t *Search) runnable(n uint64, can func(values []string) error) ([]string, error) {
	r := t.draws.stream("candidate", n)
	return t.space.again(func() []string { return t.space.candidate(r) }, can)
}

// again draws until can finds nothing wrong. An error that is of no setting ends it.
func (s dimensions) again(draw func() []string, can func(values []string) error) ([]string, error) {
	var first, last error
	of := ""
	for range mostDraws {
		values := draw()
		err := can(values)
		if err == nil {
			return values, nil
		}
		if bad := new(config.Error); !errors.As(err, &bad) {
			return nil, err
		}
		if last = err; first == nil {
			first, of = err, s.describe(values)
		}
	}
	if first.Error() == last.Error() {
		return nil, first // of no value that was drawn, or of a key with one
	}
	return nil, fmt.Errorf("none of %d draws can be run; the first (%s): %w", mostDraws, of, first)
}

// decodes says what is wrong with values that make no run file.
func (t *Search) decodes(values []string) error {
	_, err := t.trial(1, values)
	return err
}

// draw is the runnable candidate of a trial, and its run.
func (w *searching) draw(n int) (values []string, e *experiment.Experiment, err error) {
	values, err = w.t.runnable(uint64(n), func(values []string) (err error) {
		e, err = w.build(n, values)
		return err
	})
	return values, e, err
}

// redrawn remembers the first trial some values of which were drawn again.
type redrawn struct {
	mu    sync.Mutex
	trial int // 0: none
	text  string
}

func (r *redrawn) add(trial int, values string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trial == 0 || trial < r.trial {
		r.trial, r.text = trial, values+": "+err.Error()
	}
}

// note is for the result; "" where nothing was drawn again.
func (r *redrawn) note() string {
	if r.trial == 0 {
		return ""
	}
	return fmt.Sprintf("values that cannot be run were drawn again, the first for trial %d: %s", r.trial,
		r.text)
}
