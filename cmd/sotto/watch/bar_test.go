package watch

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The bar has room for itself on a terminal of 80 columns, and what an evaluation says
// stays above it. It shrank to two strokes beside the sentence.
func TestProgressBarFits(t *testing.T) {
	const said = "accuracy 81.25 % (79.00 to 84.50), loss 0.61, epsilon 3.1415 at delta 1e-05, " +
		"consensus 0.0123"
	var b bytes.Buffer
	p := &Bar{w: &b, Terminal: true}
	p.update(1, 200, "")
	p.update(100, 200, said)
	p.update(150, 200, "")
	p.update(200, 200, said)
	p.Close()
	out := regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]").ReplaceAllString(b.String(), "")
	if n := strings.Count(out, said+"\n"); n != 2 {
		t.Errorf("%d of 2 evaluations are shown: %q", n, out)
	}
	bars := 0
	for _, line := range regexp.MustCompile("[\r\n]+").Split(out, -1) {
		if !strings.Contains(line, "|") {
			continue
		}
		bars++
		bar := line[strings.IndexByte(line, '|')+1 : strings.LastIndexByte(line, '|')]
		if width := utf8.RuneCountInString(line); width > 80 || utf8.RuneCountInString(bar) < 10 {
			t.Errorf("a bar of %d in a line of %d: %q", utf8.RuneCountInString(bar), width, line)
		}
	}
	if bars == 0 {
		t.Errorf("no bar is drawn: %q", out)
	}
}
