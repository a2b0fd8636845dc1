package tune

import (
	"errors"
	"testing"

	"sotto/config"
	"sotto/privacy"
)

// The clip changes no cost where noise is a multiple of it, so that a search on private
// data may choose it: epsilon is that of a search of as many trials without it.
func TestPrivateSearchChoosesTheClip(t *testing.T) {
	s, err := privateSearch(t, "trials = 4\nseed = 2\nsimulated = true",
		"tune.space.privacy={max_grad_norm={log=[0.1, 3.0]}}")
	if err != nil {
		t.Fatal(err)
	}
	res := search(t, s, Options{})
	if res.Best == nil || len(res.Spent) == 0 || len(res.Rows) < 2 {
		t.Fatalf("%d trials, %d costs", len(res.Rows), len(res.Spent))
	}
	clips := map[string]bool{}
	for _, row := range res.Rows {
		clips[row.Values[1]] = true
	}
	if len(clips) < 2 {
		t.Errorf("all trials have one clip: %v", clips)
	}
	const rho = 6./50 + 1./200
	want := gaussianSelection(rho, 4, 1e-5, "geometric")
	for _, c := range res.Spent {
		if got := float64(c.Chosen.Upper); got < want*(1-2e-3) || got > want*(1+2e-3) {
			t.Errorf("epsilon of the selection is %.5f, the theorem gives %.5f", got, want)
		}
	}
}

// What changes the cost is refused still.
func TestPrivateSearchRefusesTheNoise(t *testing.T) {
	s, err := privateSearch(t, "", "tune.space.privacy={noise_multiplier={choice=[4.0, 5.0]}}")
	if err == nil {
		_, err = s.Run(t.Context(), Options{Out: t.TempDir()})
	}
	var bad *config.Error
	if !errors.As(err, &bad) && !errors.Is(err, privacy.ErrRefused) {
		t.Errorf("a search for the noise: %v", err)
	}
}
