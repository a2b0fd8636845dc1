// Package fetch downloads published data sets from their public mirrors.
package fetch

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sotto/config"
	"sotto/data"
	"sotto/data/catalog"
)

// maxArchive bounds the download of an archive and, times four, what it unpacks to.
const maxArchive = 1 << 30

// Options change how Fetch downloads. The zero value is ready to use.
type Options struct {
	Client *http.Client // nil is http.DefaultClient
	// BaseURL replaces scheme and host of every mirror; paths stay. "" leaves them.
	BaseURL string
	// Progress, when not nil, is called from the calling goroutine as bytes arrive; total
	// is -1 while unknown.
	Progress func(file string, done, total int64)
}

// Fetch downloads the files of a published data set into dir, in the layout that
// [data.Load] reads. Files that are there and intact are left alone. Each download goes
// to a .part file, which a later call resumes if the server can; it is renamed into place
// only after its SHA-256 is the published one. Mirrors are tried in order. A file that
// differs is removed and reported as [data.ErrAltered]; a name that has nothing to fetch
// is a *config.Error.
func Fetch(ctx context.Context, name, dir string, o Options) error {
	var can []string
	for _, e := range catalog.List() {
		if e.Fetchable {
			can = append(can, e.Name)
		}
		if e.Name != name || !e.Fetchable {
			continue
		}
		f := &fetcher{o, dir}
		return f.all(ctx, e.Files)
	}
	return config.Bad("name", name, fmt.Sprintf("data sets that can be fetched: %q", can))
}

type fetcher struct {
	Options
	dir string
}

func (f *fetcher) at(file data.File) string {
	return filepath.Join(f.dir, filepath.FromSlash(file.Path))
}

// all fetches the files that are not there, archives once.
func (f *fetcher) all(ctx context.Context, files []data.File) error {
	var need []data.File
	for _, file := range files {
		if file.Check(f.at(file)) != nil {
			need = append(need, file)
		}
	}
	for len(need) > 0 {
		first := need[0]
		if err := os.MkdirAll(filepath.Dir(f.at(first)), 0o755); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		batch := need[:1]
		if first.Member != "" {
			batch = slices.DeleteFunc(slices.Clone(need), func(g data.File) bool {
				return !slices.Equal(g.URLs, first.URLs) || g.Member == ""
			})
		}
		if err := f.mirrors(ctx, batch); err != nil {
			return err
		}
		need = slices.DeleteFunc(need, func(g data.File) bool {
			return slices.ContainsFunc(batch, func(done data.File) bool { return done.Path == g.Path })
		})
	}
	return nil
}

// mirrors tries the mirrors of a file, or of the files of one archive, in order.
func (f *fetcher) mirrors(ctx context.Context, batch []data.File) error {
	var all error
	for _, address := range batch[0].URLs {
		address, err := f.rebase(address)
		if err != nil {
			return err
		}
		if batch[0].Member == "" {
			err = f.single(ctx, address, batch[0])
		} else {
			err = f.archive(ctx, address, batch)
		}
		if err == nil {
			return nil
		}
		all = errors.Join(all, fmt.Errorf("%s: %w", address, err))
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("data: fetch %s: %w", batch[0].Dataset, all)
}

func (f *fetcher) rebase(address string) (string, error) {
	if f.BaseURL == "" {
		return address, nil
	}
	base, err := url.Parse(f.BaseURL)
	if err != nil || base.Host == "" {
		return "", config.Bad("base_url", f.BaseURL, "an address with scheme and host")
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("data: %w", err)
	}
	u.Scheme, u.Host = base.Scheme, base.Host
	return u.String(), nil
}

func (f *fetcher) single(ctx context.Context, address string, file data.File) error {
	part := f.at(file) + ".part"
	if err := f.download(ctx, address, part, file.Path, file.Bytes, file.Bytes); err != nil {
		return err
	}
	return install(part, f.at(file), file)
}

// install moves a complete download into place, or removes it if it is not the published
// file.
func install(part, at string, file data.File) error {
	if err := file.Check(part); err != nil {
		os.Remove(part)
		return err
	}
	if err := os.Rename(part, at); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return nil
}

// archive downloads a .tar.gz and takes the members of batch out of it.
func (f *fetcher) archive(ctx context.Context, address string, batch []data.File) error {
	part := filepath.Join(filepath.Dir(f.at(batch[0])), path.Base(address)+".part")
	if err := f.download(ctx, address, part, path.Base(address), -1, maxArchive); err != nil {
		return err
	}
	err := f.unpack(part, batch)
	if err == nil || errors.Is(err, data.ErrAltered) {
		os.Remove(part)
	}
	return err
}

func (f *fetcher) unpack(archive string, batch []data.File) error {
	r, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer r.Close()
	zr, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", data.ErrAltered, archive, err)
	}
	tr := tar.NewReader(io.LimitReader(zr, 4*maxArchive))
	left := slices.Clone(batch)
	for len(left) > 0 {
		h, err := tr.Next()
		if err != nil {
			return fmt.Errorf("%w: %s: no member %s (%w)", data.ErrAltered, archive, left[0].Member, err)
		}
		k := slices.IndexFunc(left, func(g data.File) bool { return g.Member == path.Clean(h.Name) })
		if k < 0 {
			continue
		}
		file := left[k]
		left = slices.Delete(left, k, k+1)
		part := f.at(file) + ".part"
		if err := save(part, io.LimitReader(tr, file.Bytes+1)); err != nil {
			os.Remove(part)
			if disk := new(fs.PathError); errors.As(err, &disk) {
				return fmt.Errorf("data: %w", err)
			}
			return fmt.Errorf("%w: %s: %w", data.ErrAltered, archive, err)
		}
		if err := install(part, f.at(file), file); err != nil {
			return err
		}
	}
	return nil
}

func save(at string, r io.Reader) error {
	w, err := os.Create(at)
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, r); err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}
