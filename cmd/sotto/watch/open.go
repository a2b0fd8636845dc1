package watch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/internal/atomicfile"
)

// Open is the command that opens the page that stays.
func Open() *cobra.Command {
	var only bool
	c := &cobra.Command{
		Use:   "open DIR",
		Short: "Open the page of a finished run, sweep, search, study or audit in the browser",
		Long: "Open the page of a finished run, sweep, search, study or audit in the browser, and print " +
			"where " +
			"it is.",
		Example: "  sotto open runs/glyphs-7da8d481",
		Args:    cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			page, err := pageOf(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), page)
			if err == nil && !only {
				browse(page)
			}
			return err
		},
	}
	c.Flags().BoolVar(&only, "print", false, "print where the page is, without opening it")
	return c
}

// pageOf is the page in a directory, or the file itself.
func pageOf(dir string) (string, error) {
	if info, err := os.Stat(dir); err != nil {
		return "", err
	} else if !info.IsDir() {
		return filepath.Abs(dir)
	}
	for _, name := range []string{"report.html", "invert.html"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return filepath.Abs(path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if pages, err := atomicfile.Glob(dir, "*.html"); err != nil {
		return "", err
	} else if len(pages) > 0 { // of a study, named as it
		return filepath.Abs(pages[0])
	}
	return "", &config.Error{File: dir, Found: "no report.html",
		Allowed: "the directory of a finished run, or " +
			"of runs after: sotto report " + dir + " --out " + filepath.Join(dir, "report.html")}
}

// browse asks the system to show an address or a file. Where there is no desktop nothing
// happens: the address was printed.
func browse(what string) {
	name, args := "xdg-open", []string{what}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", what}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
	}
	c := exec.Command(name, args...)
	if c.Start() == nil {
		go c.Wait() // it may stay as long as the browser
	}
}
