//go:build !operator

package calculator

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
)

// silence is how long a question is computed before a note says so.
var silence = 3 * time.Second

// patience says that a question takes its time, where it does, as many steps of small
// sampling rates do; the caller defers what it returns.
func patience(cmd *cobra.Command) (done func()) {
	said := time.AfterFunc(silence, func() {
		fmt.Fprintf(cli.Notes(cmd), "note: %s is still computing\n", cmd.CommandPath())
	})
	return func() { said.Stop() }
}
