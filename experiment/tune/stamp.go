package tune

import (
	"fmt"
	"sotto/experiment"
	"sotto/experiment/runfile"
	"sotto/privacy"

	"github.com/pelletier/go-toml/v2"
)

// userData are files that the user brings.
var userData = map[string]bool{"csv": true, "libsvm": true, "movielens": true, "table": true}

// publicFor says whether trials on a data set cost the owners of the data of a run
// nothing: generated data, and published data that are not the run's own. A user's file
// is never taken to be public.
func publicFor(trials, run string) bool {
	return experiment.Generated(trials) || !userData[trials] && trials != run
}

// refuse makes a config.Error a privacy refusal.
func refuse(err error) error { return fmt.Errorf("%w: %w", privacy.ErrRefused, err) }

// stamp writes how the values of a run file were found into it.
func stamp(doc *runfile.Document, found *experiment.TunedParams) error {
	b, err := toml.Marshal(found)
	if err != nil {
		return err
	}
	table := map[string]any{}
	err = toml.Unmarshal(b, &table)
	doc.Put(experiment.TunedSection, table)
	return err
}
