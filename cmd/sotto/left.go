package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sotto/config"
	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/privacy/ledger"
)

const populationUsage = "population of the data, where the policy has several [[dataset]] tables for the " +
	"data set"

// budgetRows says which ledger the owner's data are charged to, and what is left there.
func (f *nodeFlags) budgetRows(row func(what, format string, args ...any), m *owner.Membership, charges int,
	step string) {
	left, known, people, err := m.Left(slices.Contains(f.iUnderstand, overrideAnew))
	if err != nil {
		row("ledger", "FAULT: %v", err)
		return
	}
	budget, whose := left.Budget, "by its ledger"
	if fresh(left) {
		whose = "by the policy"
	}
	if left.Policy != nil {
		budget, whose = *left.Policy, fmt.Sprintf("by the policy; its ledger has epsilon %g at delta %g",
			left.Budget.Epsilon, left.Budget.Delta)
	}
	row("budget", "epsilon %g at delta %g over the life of population %s, %s", budget.Epsilon, budget.Delta,
		cmp.Or(left.Found.Population, m.Budget.Population), whose)
	row("ledger", "%s", ledgerText(left))
	if w := left.Found.Warning(); w != "" {
		row("warning", "%s", w)
	}
	if m.Budget.KeyColumn != "" {
		row("people", "%d of %d people in this file were charged before (column %s)", known, people,
			m.Budget.KeyColumn)
	}
	row("it lasts", "%s", lastsText(left, charges, m.Terms.Rounds, step, f.goesOn()))
	if left.Past > 0 {
		row("this run", "%s", pastText(left, charges, f.goesOn()))
	}
}

// fresh reports whether the ledger is still to be made.
func fresh(left *owner.Left) bool {
	return left.Found.Match == ledger.Fresh || left.Found.Match == ledger.Anew
}

func ledgerText(left *owner.Left) string {
	if fresh(left) {
		return fmt.Sprintf("%s, with none for population %s yet", filepath.Dir(left.Found.Dir),
			left.Found.Population)
	}
	name := ""
	if left.Found.Population != "" {
		name = fmt.Sprintf(" of population %s", left.Found.Population)
	}
	return fmt.Sprintf("%s%s: epsilon %s of %g spent by %s", left.Found.Dir, name,
		rundir.FormatFine(left.Spent.Upper), left.Budget.Epsilon, config.Count(left.Total, "charge"))
}

// lastsText says how far what is left of a lifetime budget goes. A run without a limit of
// its own that does not go on may ask for all of its answers again.
func lastsText(left *owner.Left, charges int, rounds uint64, step string, goesOn bool) string {
	if left.Admits >= 1<<40-1 {
		return "beyond any number of runs"
	}
	done := int(min(left.Past, uint64(charges)))
	if left.Quota < 0 && !goesOn {
		done = 0
	}
	text := fmt.Sprintf("%s of this kind left", config.Count(left.Admits, "charge"))
	switch rest := charges - done; {
	case charges == 0:
	case left.Admits >= rest && done > 0:
		text += fmt.Sprintf("; this run asks %d more", rest)
	case left.Admits >= rest:
		text += fmt.Sprintf(": %s such as this", config.Count(left.Admits/charges, "run"))
	default:
		text = fmt.Sprintf("FAULT: %s; this run asks %d: it would stop answering at %s %d of %d", text, rest,
			step,
			uint64(float64(rounds)*float64(done+left.Admits)/float64(charges)), rounds)
	}
	return text
}

// goesOn reports whether the state directory holds a checkpoint to go on from.
func (f *nodeFlags) goesOn() bool {
	if f.daemon.State == "" {
		return false
	}
	for _, name := range []string{"checkpoint", "checkpoint.2"} {
		if _, err := os.Stat(filepath.Join(f.daemon.State, name)); err == nil {
			return true
		}
	}
	return false
}

// pastText says what a run that has charged before may still charge.
func pastText(left *owner.Left, charges int, goesOn bool) string {
	text := fmt.Sprintf("has made %s before", config.Count(left.Past, "charge"))
	switch {
	case goesOn:
		return text + ", and goes on from its state directory"
	case left.Quota == 0:
		return "FAULT: it " + text + ", which is all that its plan allows: it would train without an " +
			"answer; a further run takes a new roster"
	case left.Quota > 0 && left.Quota < charges:
		return fmt.Sprintf("FAULT: it %s: %d of its plan are left, this start asks %d", text, left.Quota,
			charges)
	case left.Quota < 0 && charges > 1 && left.Past >= uint64(charges):
		return "FAULT: it " + text + ", all of its plan: it would ask for them again; a further run takes " +
			"a new roster"
	case left.Quota < 0:
		text += ", and may ask for all of its answers again unless it goes on from its state directory " +
			"(--state)"
	}
	return text
}
