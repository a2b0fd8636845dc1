package sweep

import (
	"os"
	"testing"

	"sotto/internal/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.InMemory(m).Run()) }
