package tune

import (
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"sotto/experiment"
	"sotto/experiment/runfile"
	"sotto/privacy"
)

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
