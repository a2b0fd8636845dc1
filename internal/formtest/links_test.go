package formtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	heading  = regexp.MustCompile("(?m)^#{1,5} (.*)$")
	noAnchor = regexp.MustCompile(`[^\p{L}0-9 _-]`)
)

// Links of pages lead to files that are there, and to headings that are on them.
func TestLinksOfPages(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" ||
			d.Name() == "scaffold"): // starts of folders of their own
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		pages[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range pages {
		for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], ":") { // of the web
				continue
			}
			to := path
			if link[1] != "" {
				to = filepath.Join(filepath.Dir(path), link[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s: no such file", path, link[0])
			} else if page, ok := pages[to]; ok && link[2] != "" && !hasHeading(page, link[2][1:]) {
				t.Errorf("%s: %s: no such heading", path, link[0])
			}
		}
	}
	if len(pages) < 20 {
		t.Errorf("%d pages: this test shows nothing", len(pages))
	}
}

// hasHeading reports whether a heading of the page has this anchor.
func hasHeading(page, anchor string) bool {
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		if strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
