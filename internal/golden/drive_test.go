package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sotto/internal/scratch"
)

// All that knows the program's command line is in this file.

// folder holds the built program.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "golden"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := scratch.InMemory(m).Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// program builds the program where a test first needs it, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "sotto")
	return path, build(path)
})

// build makes the program from the module that this package is in.
func build(to string) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	// The test imports nothing of what it tests, so that "go test" would take its last
	// result to hold for ever. A result that has looked at the files of the module holds
	// while none of them changes. What is read before the first test begins does not
	// count.
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || path == filepath.Join(root, "docs")) {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", to, "./cmd/sotto")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/sotto: %w\n%s", err, out)
	}
	return nil
}

// A driver runs the program in one folder with kernels of one kind.
type driver struct {
	dir     string
	kernels string // of SOTTO_CPU; "": as the environment says
	workers string
}

func (d driver) command(args ...string) (*exec.Cmd, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = d.dir
	cmd.Env = os.Environ()
	if d.kernels != "" {
		cmd.Env = append(cmd.Env, "SOTTO_CPU="+d.kernels)
	}
	return cmd, nil
}

// sotto runs one command line and returns what it prints. An error holds what it says.
func (d driver) sotto(args ...string) ([]byte, error) {
	cmd, err := d.command(args...)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := bytes.TrimSpace(stderr.Bytes())
		return stdout.Bytes(), fmt.Errorf("sotto %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	return stdout.Bytes(), nil
}

// run runs a run file to its end and returns the run's folder.
func (d driver) run(file, out string) (string, error) {
	if _, err := d.sotto("run", file, "--out", out, "--workers", d.workers, "--output", "json"); err != nil {
		return "", err
	}
	return d.only(out, "*")
}

// resume goes on with a run from its checkpoint and returns the run's folder.
func (d driver) resume(partial, out string) (string, error) {
	_, err := d.sotto("run", "--resume", partial, "--workers", d.workers, "--output", "json")
	if err != nil {
		return "", err
	}
	return d.only(out, "*")
}

// only is the one path in the folder out that matches.
func (d driver) only(out, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(d.dir, out, pattern))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s/%s: %d matches, want one: %v", out, pattern, len(found), err)
	}
	return filepath.Rel(d.dir, found[0])
}

// cut runs a run file up to its first checkpoint, kills it there and returns the
// unfinished run's folder. After the checkpoint the program prints a line of progress,
// for which there is no room, so that it waits in this place for ever.
func (d driver) cut(file, out string) (string, error) {
	cmd, err := d.command("run", file, "--out", out, "--workers", d.workers)
	if err != nil {
		return "", err
	}
	full, err := fullPipe()
	if err != nil {
		return "", err
	}
	defer full.close()
	cmd.Stderr = full.write
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	const pause = 2 * time.Millisecond
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(pause) {
		if _, err := d.only(out, "*.partial/checkpoint.bin"); err == nil {
			err = cmd.Process.Kill()
			<-ended
			if err != nil {
				return "", err
			}
			return d.only(out, "*.partial")
		}
		select {
		case err := <-ended:
			return "", fmt.Errorf("the run ended before its first checkpoint: %v", err)
		default:
		}
	}
	cmd.Process.Kill()
	<-ended
	return "", errors.New("no checkpoint within a minute")
}

// A pipe without room: whoever writes to it waits.
type pipe struct{ read, write *os.File }

func fullPipe() (*pipe, error) {
	var fd [2]int
	if err := syscall.Pipe(fd[:]); err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd[0])
	syscall.CloseOnExec(fd[1])
	err := syscall.SetNonblock(fd[1], true)
	for junk := make([]byte, 4096); err == nil && len(junk) > 0; {
		if _, werr := syscall.Write(fd[1], junk); errors.Is(werr, syscall.EAGAIN) {
			junk = junk[:len(junk)/2]
		} else {
			err = werr
		}
	}
	if err == nil {
		err = syscall.SetNonblock(fd[1], false)
	}
	return &pipe{os.NewFile(uintptr(fd[0]), "read"), os.NewFile(uintptr(fd[1]), "write")}, err
}

func (p *pipe) close() {
	p.read.Close()
	p.write.Close()
}

// nodeArgs is the command line of the member of testdata/node with that name.
func nodeArgs(name string) []string {
	return []string{"node", "--quiet", "--key", name + ".key", "--data", name + ".csv",
		"--policy", name + ".toml", "--state", name, "--linger", "5s",
		"--deadline", "10s", "--i-understand", "volatile"}
}
