package experiment

import (
	"fmt"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/data/memory"
	"sotto/experiment/runfile"
	"sotto/privacy/account"
)

// StandIns is a run like that of f on records that stand in for those of its members,
// as memory.Split makes them with an owner for each member: the same graph, model,
// algorithm and noise, at another epsilon above 0. Every owner ends with its own model,
// and the first one alone is tested. Runs whose members cannot end with own models, or
// that protect other units than records, are refused.
func StandIns(f *File, records *data.Split, epsilon float64, seed uint64) (*Experiment, error) {
	if f.Privacy.unit != account.Record() {
		return nil, f.Refuse("privacy.unit", f.Privacy.Unit,
			"record: whose records are a person's, stand-ins do not say")
	}
	doc, err := copied(f)
	if err != nil {
		return nil, err
	}
	doc.Put("data", map[string]any{"dataset": memory.Name, "partition": "natural"})
	doc.Put("evaluate", map[string]any{"on": "own", "agents": int64(1), "every": int64(1_000_000)})
	personal, _ := doc.Raw(PersonalSection).(map[string]any)
	if personal == nil {
		personal = map[string]any{}
	}
	personal["enabled"] = true
	doc.Put(PersonalSection, personal)
	budget, ok := doc.Raw("privacy").(map[string]any)
	if !ok {
		return nil, f.At("privacy", config.Bad("target_epsilon", "no section", "a budget"))
	}
	delete(budget, "noise_multiplier")
	budget["target_epsilon"] = epsilon
	doc.Drop("faults")
	doc.Drop(TunedSection)
	like, err := parsed(doc, fmt.Sprintf("seed=%d", seed))
	if err != nil {
		return nil, err
	}
	return BuildOn(like, records)
}

// Changed is the run file without the keys of drop, as section.key, and with those of
// set, as section.key=value.
func Changed(f *File, drop, set []string) (*File, error) {
	doc, err := copied(f)
	if err != nil {
		return nil, err
	}
	for _, key := range drop {
		section, name, _ := strings.Cut(key, ".")
		if table, ok := doc.Raw(section).(map[string]any); ok {
			delete(table, name)
		}
	}
	return parsed(doc, set...)
}

// copied is the document that f was read from.
func copied(f *File) (*runfile.Document, error) {
	b, err := f.doc.Encode()
	if err != nil {
		return nil, err
	}
	return runfile.Parse(f.doc.File(), b)
}

func parsed(doc *runfile.Document, set ...string) (*File, error) {
	b, err := doc.Encode()
	if err != nil {
		return nil, err
	}
	return Parse(doc.File(), b, set)
}
