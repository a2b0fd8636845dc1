package live_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/live"
	"sotto/live/event"
)

// What --live adds to a run, to number, write and fold its events for a page, takes less
// than 2 % of its time.
func TestCostOfLive(t *testing.T) {
	f, err := experiment.Read("", nil) // the built-in one
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	said := event.NewStream(event.Simulated)
	var all []event.Body
	said.Follow(func(e *event.Event) { all = append(all, e.Body) })
	began := time.Now()
	if _, err := run.Run(context.Background(), e, run.Options{Out: t.TempDir(), Workers: 1,
		Watch: run.Watch{Events: said}}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	again := event.NewStream(event.Simulated)
	live.Of("run", again)
	if err := again.Keep(filepath.Join(t.TempDir(), event.File), 0o600); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	for _, b := range all {
		again.Emit(b)
	}
	cost := time.Since(began)
	t.Logf("%d events in %v of %v: %.2f %%", len(all), cost, took, 100*float64(cost)/float64(took))
	if cost > took/50 {
		t.Errorf("%d events took %v, above 2 %% of %v", len(all), cost, took)
	}
}
