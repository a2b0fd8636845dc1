package formtest

import (
	"go/scanner"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sotto/internal/source"
)

// A feature is something that one run has and another has not: a pace, a mechanism, a
// switch of a replication. Its own files may know it. Lines elsewhere that ask whether a
// run has it, and do something else then, are what the next feature has to be written
// between; they are to become fewer. Lines that only hand a value on ask nothing.

// A feature is how lines ask for it, and which files are its own.
type feature struct {
	name string
	asks *regexp.Regexp
	own  *regexp.Regexp // base names without .go; nil: none
}

// pattern matches what one of the parts does.
func pattern(parts ...string) *regexp.Regexp { return regexp.MustCompile(strings.Join(parts, "|")) }

// branches matches lines that do one thing or another.
var branches = regexp.MustCompile(`\b(if|case|switch)\b|&&|\|\||[!=]=|` +
	`return .*\b(Has|Lacks|Clocked|InRounds|InTokens)\(`)

// The tables features.go of run files and deviations.go of replications are where
// features meet by intent: their rows are not counted.
var runFeatures = []feature{
	{"pace", pattern(`\b[pP]acing\b *[!=]=`, `\bClocked\(\)`, `\bIn(Rounds|Tokens)\(\)`,
		`switch .*\b[pP]acing\b`, `case agent\.Pacing`, `\.(OwnPlans|EveryStep|Walking)\b`),
		pattern(`^(features|deviations|pace|clock|tokens)$`)},
	{"algorithm", pattern(`\b(alg|Algorithm)\.Name *[!=]=`, `switch .*(alg|Algorithm)\.Name`,
		`\b(Has|Lacks|has|lacks)\(algo\.`), pattern(`^(features|deviations|sealed)$`)},
	{"shared noise", pattern(`\.Pairwise\b`, `\.Shared\(\)`, `\bsharedNoise\(`),
		pattern(`^(sharednoise|features|deviations)$`)},
	{"local noise", pattern(`\.Perturbs\b`, `\bTask\.Local\b`, `\bperturb\(`),
		pattern(`^(localdp|local|perturb|features)$`)},
	{"replication", pattern(`\bReplication\.(On|Stated)\b`, `\.(NoiseFree|Unjudged|Uncharged|GaussSeidel)\b`,
		`\.UnbalancedWeights\b`, `\bClaimer\b`),
		pattern(`^(replication|deviations|residuals|claimer|similar|features)$`)},
	{"personal models", pattern(`\.\(personal\)`, `\bAgentEpsilon\b`, `\bWarm(Epsilon|Mechanism)\b`),
		pattern(`^(personal|objective)$`)},
	{"private iterate", pattern(`\bCheckpointGrowth\b`, `\.Recover\(`, `\.Erase\(`, `\brecover\(`,
		`\berase\(`,
		`\bKind.*\.Private\b`, `\bremembers\(\)`), pattern(`^(recover|residuals)$`)},
	{"tokens", pattern(`\bToken\.Count\b`), pattern(`^(tokens|walknetwork)$`)},
	{"prior release", pattern(`\.Before\b`, `\bpriorEvents\(`), pattern(`^similar$`)},
	{"arrivals", pattern(`\.Arrivals?\b`), pattern(`^(arrival|features)$`)},
	{"held-out records", pattern(`\.HeldOut\b`, `Task\.Validation\b`, `\bscorers?\b`, `\bscoreFilter\b`),
		pattern(`^(validation|score)$`)},
	{"owner", pattern(`\bSeats\.(Owned|Self)\b`, `\bMaxRecords\b`, `\bWakesOf\b`, `Clock\.Replay\b`),
		pattern(`^(owned|clock|features)$`)},
	{"sealed gate", pattern(`\bSealed\(\)`), pattern(`^sealed$`)},
	{"count and clips", pattern(`\.Extra\(\)`, `\.Adaptive\(\)`, `\bPartNoise\b`, `\.clip\(\)`),
		pattern(`^(clipping|features)$`)},
	{"frozen layers", pattern(`\.Backbone\b`, `\bExpand\(`), pattern(`^head$`)},
	{"optional method", pattern(`\.\(interface ?\{`, `\.\(\*?algo\.`), pattern(`^(clips|estimation)$`)},
}

// pacer.go is the one place where paces meet by intent.
var nodeFeatures = []feature{
	{"tokens", pattern(`\.Holders\b`), pattern(`^(tokens|visits|pacer)$`)},
	{"clock", pattern(`\.Interval\b`), pattern(`^(clock|ticker|pairing|pacer)$`)},
	{"recorded wakes", pattern(`\.Wakes\b`), pattern(`^(replay|pacer)$`)},
	{"meetings", pattern(`\.Pairs\b`), pattern(`^(pairing|pacer)$`)},
	{"changing graphs", pattern(`\.Graphs\b`), pattern(`^(graphs|sparse)$`)},
	{"sparse graphs", pattern(`\.sparse\b`), pattern(`^(graphs|sparse)$`)},
}

// featuresOf are what is counted in a package; new packages below experiment are its
// parts.
func featuresOf(dir string) []feature {
	switch dir, _, _ := strings.Cut(dir, "/"); {
	case dir == "experiment", dir == "report":
		return runFeatures
	case dir == "node":
		return nodeFeatures
	}
	if dir == "cmd/sotto" {
		return runFeatures
	}
	return nil
}

// features counts, by file, the lines that ask for a feature in files that are not its
// own. A line counts once, comments and tests do not.
func features(files *source.Files) map[string]int {
	count := map[string]int{}
	for _, f := range files.All {
		of := featuresOf(f.Dir)
		if f.Test || f.Generated || strings.HasSuffix(f.Dir, "test") || len(of) == 0 {
			continue
		}
		base := strings.TrimSuffix(path.Base(f.Path), ".go")
		for _, line := range code(f) {
			if branches.MatchString(line) && slices.ContainsFunc(of, func(x feature) bool {
				return (x.own == nil || !x.own.MatchString(base)) && x.asks.MatchString(line)
			}) {
				count[f.Path]++
			}
		}
	}
	return count
}

// code are a file's lines without comments.
func code(f *source.File) []string {
	text := slices.Clone(f.Text)
	var s scanner.Scanner
	set := token.NewFileSet()
	in := set.AddFile(f.Path, -1, len(text))
	s.Init(in, f.Text, nil, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return strings.Split(string(text), "\n")
		}
		if tok != token.COMMENT {
			continue
		}
		at := in.Offset(pos)
		for k := at; k < at+len(literal); k++ {
			if text[k] != '\n' {
				text[k] = ' '
			}
		}
	}
}

// The number of lines that ask for a feature by name does not rise; -v says where they
// are.
func TestFeatures(t *testing.T) {
	files := module(t)
	allowed, err := read(list)
	if err != nil {
		t.Fatal(err)
	}
	count, total := features(files), 0
	for _, f := range slices.Sorted(maps.Keys(count)) {
		total += count[f]
		t.Logf("%4d  %s", count[f], f)
	}
	t.Logf("%4d  together, in %d files", total, len(count))
	if most := allowed[key{"features", "total"}]; total > most && !*update {
		t.Errorf("%d lines ask for a feature by name, were %d", total, most)
	}
}
