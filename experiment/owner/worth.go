package owner

import (
	"sotto/data"
	"sotto/experiment"
)

// Everything is the run that all have agreed on and all usable records of the owner,
// those held out for its own tests too: what the owner alone may look at before it joins.
func Everything(o *Owner) (*experiment.File, *data.Dataset) {
	return o.e.File, o.e.Task.Split.Pool()
}
