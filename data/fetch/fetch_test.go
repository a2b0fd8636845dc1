package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sotto/config"
	"sotto/data"
	"sotto/data/catalog"
)

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// mirror is a server whose behavior a test chooses, with counters.
type mirror struct {
	*httptest.Server
	requests, ranged, sent atomic.Int64
}

// serve starts a server; answer gets the content for the path, and the offset asked for
// (0 without Range).
func serve(t *testing.T, content map[string][]byte,
	answer func(w http.ResponseWriter, b []byte, from int)) *mirror {
	t.Helper()
	m := &mirror{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.requests.Add(1)
		b, ok := content[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		from := 0
		if h := r.Header.Get("Range"); h != "" {
			m.ranged.Add(1)
			if _, err := fmt.Sscanf(h, "bytes=%d-", &from); err != nil {
				t.Errorf("Range %q", h)
			}
		}
		m.sent.Add(int64(len(b) - from))
		answer(w, b, from)
	}))
	t.Cleanup(m.Close)
	return m
}

// whole ignores Range, as some servers do.
func whole(w http.ResponseWriter, b []byte, _ int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	w.Write(b)
}

// partial honors Range.
func partial(w http.ResponseWriter, b []byte, from int) {
	switch {
	case from == 0:
		whole(w, b, 0)
	case from >= len(b):
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(b)))
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	default:
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(b)-1, len(b)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(b[from:])
	}
}

// breakOff announces everything and sends half.
func breakOff(w http.ResponseWriter, b []byte, from int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(b)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(b)-1, len(b)))
		w.WriteHeader(http.StatusPartialContent)
	}
	w.Write(b[from : from+(len(b)-from)/2])
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func fileOf(b []byte, urls ...string) data.File {
	return data.File{Dataset: "set", Path: "set/file.bin", Bytes: int64(len(b)), SHA256: hexSum(b),
		URLs: urls}
}

func stored(t *testing.T, dir string) (file, part []byte) {
	t.Helper()
	file, _ = os.ReadFile(filepath.Join(dir, "set", "file.bin"))
	part, _ = os.ReadFile(filepath.Join(dir, "set", "file.bin.part"))
	return file, part
}

func TestFetchWholeFile(t *testing.T) {
	b := noise(300_000)
	m := serve(t, map[string][]byte{"/a/file.bin": b}, partial)
	var last, total int64
	calls := 0
	f := &fetcher{Options{BaseURL: m.URL, Progress: func(file string, done, all int64) {
		if file != "set/file.bin" || done <= last {
			t.Errorf("progress %s %d after %d", file, done, last)
		}
		last, total = done, all
		calls++
	}}, t.TempDir()}
	files := []data.File{fileOf(b, "https://example.invalid/a/file.bin")}
	if err := f.all(context.Background(), files); err != nil {
		t.Fatal(err)
	}
	if file, part := stored(t, f.dir); !bytes.Equal(file, b) || part != nil {
		t.Errorf("%d bytes in place, %d in the part", len(file), len(part))
	}
	if calls < 2 || last != 300_000 || total != 300_000 {
		t.Errorf("%d progress calls up to %d of %d", calls, last, total)
	}
	// A second call finds the file intact and asks nobody.
	if err := f.all(context.Background(), files); err != nil || m.requests.Load() != 1 {
		t.Errorf("second call: %v, %d requests", err, m.requests.Load())
	}
}

func TestFetchWrongSum(t *testing.T) {
	b := noise(5000)
	wrong := bytes.Clone(b)
	wrong[77] ^= 1
	m := serve(t, map[string][]byte{"/file.bin": wrong}, partial)
	f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
	err := f.all(context.Background(), []data.File{fileOf(b, "http://x/file.bin")})
	if !errors.Is(err, data.ErrAltered) || !strings.Contains(err.Error(), hexSum(b)) ||
		!strings.Contains(err.Error(), hexSum(wrong)) {
		t.Errorf("error %v, want both sums", err)
	}
	if file, part := stored(t, f.dir); file != nil || part != nil {
		t.Errorf("%d and %d bytes are left", len(file), len(part))
	}
}

func TestFetchWrongSize(t *testing.T) {
	b := noise(5000)
	for name, served := range map[string][]byte{"short": b[:4000], "long": append(bytes.Clone(b), 1)} {
		for how, answer := range map[string]func(http.ResponseWriter, []byte, int){
			"announced": partial,
			"chunked": func(w http.ResponseWriter, b []byte, _ int) {
				w.(http.Flusher).Flush()
				w.Write(b)
			},
		} {
			m := serve(t, map[string][]byte{"/file.bin": served}, answer)
			f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
			err := f.all(context.Background(), []data.File{fileOf(b, "http://x/file.bin")})
			// A chunked short body cannot be told from a broken connection: it is kept
			// for resuming.
			if altered := errors.Is(err, data.ErrAltered); err == nil ||
				altered != (name == "long" || how == "announced") {
				t.Errorf("%s, %s: error %v", name, how, err)
			}
			if file, _ := stored(t, f.dir); file != nil {
				t.Errorf("%s, %s: a file is in place", name, how)
			}
		}
	}
}

func TestFetchNotFoundTriesNextMirror(t *testing.T) {
	b := noise(1000)
	m := serve(t, map[string][]byte{"/second/file.bin": b}, partial)
	f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
	err := f.all(context.Background(), []data.File{fileOf(b, "http://x/first/file.bin")})
	if err == nil || !strings.Contains(err.Error(), "404") ||
		!strings.Contains(err.Error(), "/first/file.bin") {
		t.Errorf("error %v, want 404 and the address", err)
	}
	if err := f.all(context.Background(),
		[]data.File{fileOf(b, "http://x/first/file.bin", "http://x/second/file.bin")}); err != nil {
		t.Errorf("second mirror: %v", err)
	}
}

func TestFetchResumes(t *testing.T) {
	b := noise(200_000)
	content := map[string][]byte{"/file.bin": b}
	broken := serve(t, content, breakOff)
	dir := t.TempDir()
	files := []data.File{fileOf(b, "http://x/file.bin")}
	err := (&fetcher{Options{BaseURL: broken.URL}, dir}).all(context.Background(), files)
	if err == nil || errors.Is(err, data.ErrAltered) || !strings.Contains(err.Error(), "resume") {
		t.Errorf("broken connection: %v", err)
	}
	file, part := stored(t, dir)
	if file != nil || !bytes.Equal(part, b[:100_000]) {
		t.Fatalf("%d bytes in place, %d in the part, want 100,000", len(file), len(part))
	}
	good := serve(t, content, partial)
	if err := (&fetcher{Options{BaseURL: good.URL}, dir}).all(context.Background(), files); err != nil {
		t.Fatal(err)
	}
	if file, _ := stored(t, dir); !bytes.Equal(file, b) || good.ranged.Load() != 1 ||
		good.sent.Load() != 100_000 {
		t.Errorf("%d bytes; %d range requests, %d bytes sent again", len(file), good.ranged.Load(),
			good.sent.Load())
	}
}

func TestFetchResumesWithoutRange(t *testing.T) {
	b := noise(50_000)
	for name, answer := range map[string]func(http.ResponseWriter, []byte, int){
		"ignores range": whole,
		"wrong offset": func(w http.ResponseWriter, b []byte, from int) {
			if from == 0 {
				w.Write(b)
				return
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(b)-1, len(b)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(b)
		},
	} {
		m := serve(t, map[string][]byte{"/file.bin": b}, answer)
		f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
		files := []data.File{fileOf(b, "http://x/file.bin")}
		plant(t, f.dir, b[:20_000])
		err := f.all(context.Background(), files)
		if name == "wrong offset" {
			if file, part := stored(t, f.dir); err == nil || file != nil || len(part) != 20_000 {
				t.Errorf("%s: error %v, %d bytes in place", name, err, len(file))
			}
			continue
		}
		if file, _ := stored(t, f.dir); err != nil || !bytes.Equal(file, b) {
			t.Errorf("%s: %v, %d bytes", name, err, len(file))
		}
	}
}

func plant(t *testing.T, dir string, part []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "set"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "set", "file.bin.part"), part, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A part that is complete, too long or made of other bytes ends in a good file or in
// nothing.
func TestFetchOldParts(t *testing.T) {
	b := noise(10_000)
	m := serve(t, map[string][]byte{"/file.bin": b}, partial)
	files := []data.File{fileOf(b, "http://x/file.bin")}
	for name, c := range map[string]struct {
		part     []byte
		good     bool
		requests int64
	}{
		"complete": {b, true, 0},
		"too long": {append(bytes.Clone(b), 1), true, 1},
		"foreign":  {make([]byte, 3000), false, 1},
	} {
		f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
		plant(t, f.dir, c.part)
		before := m.requests.Load()
		err := f.all(context.Background(), files)
		file, part := stored(t, f.dir)
		if (err == nil) != c.good || c.good != bytes.Equal(file, b) || part != nil ||
			m.requests.Load()-before != c.requests {
			t.Errorf("%s: %v, %d and %d bytes, %d requests", name, err, len(file), len(part),
				m.requests.Load()-before)
		}
		// The foreign part is gone, so that the next call succeeds.
		if err := f.all(context.Background(), files); err != nil {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

func tarball(t *testing.T, members map[string][]byte, order ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, name := range order {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o600,
			Size: int64(len(members[name]))}); err != nil {
			t.Fatal(err)
		}
		tw.Write(members[name])
	}
	tw.Close()
	zw.Close()
	return b.Bytes()
}

func TestFetchArchive(t *testing.T) {
	x, y := noise(70_000), []byte("second")
	members := map[string][]byte{"in/x.bin": x, "./in/y.bin": y, "../evil": []byte("no"),
		"in/readme": []byte("text")}
	ball := tarball(t, members, "in/readme", "../evil", "./in/y.bin", "in/x.bin")
	m := serve(t, map[string][]byte{"/all.tar.gz": ball, "/cut.tar.gz": ball[:len(ball)/2],
		"/lacks.tar.gz": tarball(t, members, "in/x.bin")}, partial)
	files := func(name string) []data.File {
		fx, fy := fileOf(x, "http://x/"+name), fileOf(y, "http://x/"+name)
		fx.Member, fy.Member, fy.Path = "in/x.bin", "in/y.bin", "set/y.bin"
		return []data.File{fx, fy}
	}
	f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
	if err := f.all(context.Background(), files("all.tar.gz")); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(filepath.Join(f.dir, "set"))
	if file, _ := stored(t, f.dir); !bytes.Equal(file, x) || len(entries) != 2 || m.requests.Load() != 1 {
		t.Errorf("%d bytes, %d files, %d requests", len(file), len(entries), m.requests.Load())
	}
	for _, bad := range []string{"cut.tar.gz", "lacks.tar.gz"} {
		f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
		if err := f.all(context.Background(), files(bad)); !errors.Is(err, data.ErrAltered) {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := os.Stat(filepath.Join(f.dir, "set", bad+".part")); err == nil {
			t.Errorf("%s: the bad archive is kept", bad)
		}
	}
	// An archive that broke off is resumed; one that had arrived in full is not asked for
	// twice.
	f = &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
	plantArchive := func(part []byte) {
		plant(t, f.dir, nil)
		if err := os.WriteFile(filepath.Join(f.dir, "set", "all.tar.gz.part"), part, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, have := range []int{len(ball) / 3, len(ball)} {
		os.RemoveAll(filepath.Join(f.dir, "set"))
		plantArchive(ball[:have])
		sent := m.sent.Load()
		if err := f.all(context.Background(), files("all.tar.gz")); err != nil ||
			m.sent.Load()-sent != int64(len(ball)-have) {
			t.Errorf("resumed at %d: %v, %d bytes sent", have, err, m.sent.Load()-sent)
		}
	}
}

func TestFetchCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := noise(100_000)
	m := serve(t, map[string][]byte{"/file.bin": b}, func(w http.ResponseWriter, b []byte, _ int) {
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b[:50_000])
		w.(http.Flusher).Flush()
		cancel()
		time.Sleep(50 * time.Millisecond)
	})
	f := &fetcher{Options{BaseURL: m.URL}, t.TempDir()}
	err := f.all(ctx, []data.File{fileOf(b, "http://x/file.bin", "http://x/other.bin")})
	if !errors.Is(err, context.Canceled) || m.requests.Load() != 1 {
		t.Errorf("error %v after %d requests", err, m.requests.Load())
	}
}

func TestFetchRefuses(t *testing.T) {
	for _, name := range []string{"glyphs", "cifar-100", "csv", "imagenet"} {
		var bad *config.Error
		if err := Fetch(context.Background(), name, t.TempDir(), Options{}); !errors.As(err, &bad) ||
			bad.Key != "name" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var bad *config.Error
	if err := Fetch(context.Background(), "mnist", t.TempDir(),
		Options{BaseURL: "mirror"}); !errors.As(err, &bad) {
		t.Errorf("base URL without host: %v", err)
	}
}

// The published table, end to end: real bytes behind a local server are fetched, verified
// and loaded.
func TestFetchPublished(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs heart-disease, breast-cancer")
	}
	content := map[string][]byte{}
	for _, e := range catalog.List() {
		if e.Name != "heart-disease" && e.Name != "breast-cancer" {
			continue
		}
		for _, f := range e.Files {
			b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
			if err != nil {
				t.Fatal(err)
			}
			content[strings.TrimPrefix(f.URLs[0], "https://archive.ics.uci.edu")] = b
		}
	}
	m := serve(t, content, partial)
	to := t.TempDir()
	for _, name := range []string{"heart-disease", "breast-cancer"} {
		if err := Fetch(context.Background(), name, to, Options{BaseURL: m.URL}); err != nil {
			t.Fatal(err)
		}
		if _, err := data.Load(name, to, 1, func(any) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}
