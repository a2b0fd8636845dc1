//go:build browser

package browser

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	// ticks are the numbers on the axes of the first figure.
	xTicks = `[...document.querySelector(".ticks.x").children].map(e => e.textContent).join(" ")`
	yTicks = `[...document.querySelector(".ticks.y").children].map(e => e.textContent).join(" ")`
	// drawn is what all figures show, and where.
	drawn = `JSON.stringify([...document.querySelectorAll(".drawn svg.plot")].map(e => { ` +
		`const o = e.getBoundingClientRect(); return [...e.querySelectorAll("*")].map(c => { ` +
		`const r = c.getBoundingClientRect(); return [c.tagName, c.getAttribute("d"), ` +
		`c.getAttribute("style") || "", c.children.length ? "" : c.textContent, ` +
		`r.width ? [r.x - o.x, r.y - o.y, r.width, r.height].map(v => Math.round(v)) : 0]; }); }))`
)

// drag drags over the first figure's data, between shares of its width and height.
func (p *tab) drag(x1, y1, x2, y2 float64) {
	p.t.Helper()
	p.run(chromedp.Evaluate(`document.querySelector(".drawn").scrollIntoView({block: "center"})`, nil))
	box := value[[]float64](p, `(r => [r.x, r.y, r.width, r.height])(document.querySelector(".drawn .frame")`+
		`.getBoundingClientRect())`)
	at := func(x, y float64) (float64, float64) { return box[0] + x*box[2], box[1] + y*box[3] }
	mouse := func(kind input.MouseType, x, y float64) {
		px, py := at(x, y)
		p.run(input.DispatchMouseEvent(kind, px, py).WithButton(input.Left).WithButtons(1).WithClickCount(1))
	}
	mouse(input.MousePressed, x1, y1)
	mouse(input.MouseMoved, (x1+x2)/2, (y1+y2)/2)
	mouse(input.MouseMoved, x2, y2)
	if value[string](p, `document.querySelector(".drawn .chosen").getAttribute("d")`) == "" {
		p.t.Error("what a drag selects is not shown")
	}
	mouse(input.MouseReleased, x2, y2)
}

// zooms looks into the first figure of a page by pointer and by keyboard.
func (p *tab) zooms(what string) {
	p.t.Helper()
	p.run(page.BringToFront()) // a tab behind others gets no pointer
	whole, x, y := value[string](p, drawn), value[string](p, xTicks), value[string](p, yTicks)
	changed := func(how string, wantX, wantY bool) {
		p.t.Helper()
		nowX, nowY := value[string](p, xTicks), value[string](p, yTicks)
		if (nowX != x) != wantX || (nowY != y) != wantY {
			p.t.Errorf("%s: after %s the ticks are %q and %q, before %q and %q", what, how, nowX, nowY, x, y)
		}
	}
	back := func(how string) {
		p.t.Helper()
		changed(how, false, false)
		if value[string](p, drawn) != whole {
			p.t.Errorf("%s: %s does not show the whole again: %s", what, how,
				apart(whole, value[string](p, drawn)))
		}
	}
	p.drag(.4, .5, .8, .52)
	changed("a flat drag", true, false)
	const first = `document.querySelector(".drawn").querySelectorAll`
	outside := value[int](p, first+`('.hit[style*="none"]').length`)
	inside := value[int](p, first+`('.hit').length`) - outside
	if outside == 0 || inside == 0 {
		p.t.Errorf("%s: %d points inside and %d outside of a part", what, inside, outside)
	}
	said := value[string](p, `document.querySelector(".tools output").textContent`)
	var low, high float64
	if _, err := fmt.Sscanf(said, "round %g to %g;", &low, &high); err != nil || low < 20 || low > 27 ||
		high < 44 || high > 51 {
		p.t.Errorf("%s: from .4 to .8 of 60 rounds is %q, %v", what, said, err)
	}
	p.run(chromedp.Click(".tools button", chromedp.ByQuery))
	back("the button")
	p.drag(.3, .2, .7, .8)
	changed("a tall drag", true, true)
	p.run(chromedp.DoubleClick(".drawn", chromedp.ByQuery))
	back("a double click")
	p.run(chromedp.Focus(".drawn", chromedp.ByQuery), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	changed("+", true, true)
	at := value[string](p, `document.querySelector(".drawn .data").getAttribute("viewBox")`)
	p.run(chromedp.KeyEvent(kb.ArrowRight))
	if value[string](p, `document.querySelector(".drawn .data").getAttribute("viewBox")`) == at {
		p.t.Errorf("%s: an arrow does not move", what)
	}
	p.accessible()
	p.run(chromedp.KeyEvent("0"))
	back("0")
}

// Figures of the pages that stay show parts of their axes, from a file and from the live
// server, whose policy allows their script; without scripts they show the same.
func TestFiguresZoom(t *testing.T) {
	dir := t.TempDir()
	for _, epsilon := range []string{"1", "4"} {
		sotto(t, "run", "--quiet", "--out", filepath.Join(dir, "runs"), "--set", "rounds=60", "--set",
			"privacy.target_epsilon="+epsilon)
	}
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*"))
	if err != nil || len(runs) != 2 {
		t.Fatal(runs, err)
	}
	p := openFile(t, filepath.Join(runs[0], "report.html"))
	p.zooms("a file")
	p.clean()
	shown := value[string](p, drawn)

	s := start(t, "live", runs[0])
	q := open(t, s.url+"staying")
	q.until("the script runs", `document.querySelector(".tools output")`, 5*time.Second)
	q.zooms("the live server")
	q.clean()
	q.run(chromedp.Evaluate(`(e => { e.textContent = "window.other = 1"; document.body.append(e); })(`+
		`document.createElement("script"))`, nil))
	if value[bool](q, "window.other === 1") {
		t.Error("the live server's policy allows another script")
	}

	several := filepath.Join(dir, "several.html")
	sotto(t, append([]string{"report", "--out", several}, runs...)...)
	r := openFile(t, several)
	r.run(chromedp.Evaluate(`document.querySelectorAll(".drawn").forEach(e => { for (let k = 0; k < 4; k++) `+
		`e.dispatchEvent(new KeyboardEvent("keydown", {key: "+"})); })`, nil))
	if bad := value[int](r, `[...document.querySelectorAll(".drawn")].filter(e => `+
		`e.querySelectorAll(".tick").length < 3 || /NaN|Infinity/.test(e.innerHTML)).length`); bad > 0 {
		t.Errorf("%d figures have lost their ticks", bad)
	}
	r.clean()

	bare := openBare(t, filepath.Join(runs[0], "report.html"))
	if value[int](bare, `document.querySelectorAll(".tools output, .drawn[tabindex]").length`) > 0 {
		t.Error("scripts are not off")
	}
	if got := value[string](bare, drawn); got != shown {
		t.Errorf("without scripts figures differ: %s", apart(shown, got))
	}
	bare.clean()
}

// openBare opens a page that is a file, without its scripts.
func openBare(t *testing.T, path string) *tab {
	t.Helper()
	p := openFile(t, path)
	p.run(emulation.SetScriptExecutionDisabled(true), chromedp.Reload())
	return p
}
