package folder

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node/frame"
)

// A frame that could not be read for a moment was passed over for good. What was read and
// refused stays so until it changes.
func TestUnreadFileIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("frame"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{log: slog.New(slog.DiscardHandler), disk: disk{root: root}, peers: make([]peer, 1)}
		for name, tc := range map[string]struct {
			err  error
			want bool
		}{"unread": {&fs.PathError{Op: "openat", Path: "x", Err: syscall.EACCES}, true},
			"forged": {errForged, false}} {
			in := &inbox{refused: map[string]stamp{}}
			before := tr.peers[0].faults
			for range 3 {
				tr.refuse(in, label{}, "x", tc.err)
				if tr.changed(in, "x") {
					t.Errorf("%s: read again at once", name)
				}
				time.Sleep(rereading + time.Millisecond)
				if tr.changed(in, "x") != tc.want {
					t.Errorf("%s: read again after a pause: %t", name, !tc.want)
				}
			}
			if n := tr.peers[0].faults - before; n != 1 {
				t.Errorf("%s: named %d times", name, n)
			}
		}
	})
}

// The same with two members, where there is somebody whom a mode keeps from reading.
func TestFrameWithoutAModeForAMoment(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	s := openShared(t, 2, 1<<16)
	a, b := s.Open(t, 0), s.Open(t, 1)
	defer a.Close()
	defer b.Close()
	var taken atomic.Int32
	a.Serve(func(agent.ID, []byte) error { return nil })
	b.Serve(func(agent.ID, []byte) error { taken.Add(1); return nil })
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Messages, Round: 1, Payload: []byte("hello")})
	send := func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		return a.Send(ctx, 1, raw)
	}
	old := syscall.Umask(0o777)
	err := send(2 * time.Second)
	syscall.Umask(old)
	if err == nil {
		t.Fatal("a frame without a mode was read")
	}
	filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".frame" {
			return os.Chmod(path, 0o644)
		}
		return nil
	})
	if err := send(10 * time.Second); err != nil || taken.Load() != 1 {
		t.Errorf("%v, taken %d times", err, taken.Load())
	}
}
