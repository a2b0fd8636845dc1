package attack

import (
	"errors"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
)

// An auditor of pairs brings values of its own, of which a query asks nothing.
func TestPairsOfAQuery(t *testing.T) {
	f, err := experiment.Parse("questions.toml", []byte(experimenttest.Questions), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := averagingOf(e); !errors.As(err, &bad) || bad.Key != "algorithm.name" {
		t.Error(err)
	}
}
