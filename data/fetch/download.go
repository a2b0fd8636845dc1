package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"sotto/data"
)

// download gets address into part, continuing behind the bytes that part already has.
// expect is the size that the file must have, -1 if unknown; most is the size at which to
// give up. After an error part holds what has arrived, except when the server's file has
// the wrong size: then it is removed.
func (f *fetcher) download(ctx context.Context, address, part, name string, expect, most int64) error {
	have, err := partSize(part, most)
	if err != nil {
		return err
	}
	if have == expect {
		return nil
	}
	resp, err := f.request(ctx, address, have)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	switch {
	case resp.StatusCode == http.StatusOK: // the whole file, whatever was asked for
		have = 0
		mode |= os.O_TRUNC
	case resp.StatusCode == http.StatusPartialContent && startsAt(resp, have):
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && have > 0:
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", have) && expect < 0 {
			return nil // all of it is here
		}
		os.Remove(part)
		return fmt.Errorf(
			"the server's file is shorter than the %d bytes already here, which are removed: run again", have)
	default:
		return fmt.Errorf("server answers %s", resp.Status)
	}
	total := resp.ContentLength
	if total >= 0 {
		total += have
	}
	if expect >= 0 && total >= 0 && total != expect {
		os.Remove(part)
		return fmt.Errorf("%w: %s: expected %d bytes, the server has %d", data.ErrAltered, name, expect,
			total)
	}
	if total < 0 {
		total = expect
	}
	w, err := os.OpenFile(part, mode, 0o644)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	got, err := f.copy(w, resp.Body, name, have, total, most)
	if err == nil {
		err = w.Sync()
	}
	err = errors.Join(err, w.Close())
	switch {
	case got > most:
		os.Remove(part)
		return fmt.Errorf("%w: %s: expected at most %d bytes, the server sends more", data.ErrAltered, name,
			most)
	case err != nil:
		return fmt.Errorf("%s: broken off after %d bytes, which are kept (run again to resume): %w", name,
			got, err)
	case expect >= 0 && got < expect:
		return fmt.Errorf("%s: broken off after %d of %d bytes, which are kept (run again to resume)", name,
			got, expect)
	}
	return nil
}

// partSize returns the bytes that can be kept of a part: none of one that is too long or
// not there.
func partSize(part string, most int64) (int64, error) {
	info, err := os.Stat(part)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("data: %w", err)
	case info.Size() > most:
		return 0, nil
	}
	return info.Size(), nil
}

func (f *fetcher) request(ctx context.Context, address string, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	req.Header.Set("Accept-Encoding", "identity") // sums are those of the stored bytes
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	client := f.Client
	if client == nil {
		client = http.DefaultClient
	}
	return client.Do(req)
}

func startsAt(resp *http.Response, have int64) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have))
}

// copy appends r to w and reports progress; it returns the size that the file has then,
// and stops once that is more than most.
func (f *fetcher) copy(w io.Writer, r io.Reader, name string, have, total, most int64) (int64, error) {
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return have, werr
			}
			have += int64(n)
			if f.Progress != nil {
				f.Progress(name, have, total)
			}
		}
		switch {
		case have > most || err == io.EOF:
			return have, nil
		case err != nil:
			return have, err
		}
	}
}
