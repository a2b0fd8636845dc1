package experiment

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"sotto/config"
)

// pretrained holds models that were trained on public data: examples/pretrain-NAME.toml
// makes NAME.safetensors bit for bit.
//
//go:embed pretrained/*.safetensors
var pretrained embed.FS

const builtinPrefix = "builtin:"

// readInitial returns the bytes of init_from: a file, or with builtin:NAME a model that
// comes with the program.
func readInitial(from string) ([]byte, error) {
	name, ok := strings.CutPrefix(from, builtinPrefix)
	if !ok {
		b, err := os.ReadFile(from)
		if err != nil {
			return nil, fmt.Errorf("model.init_from: %w", err)
		}
		return b, nil
	}
	b, err := pretrained.ReadFile("pretrained/" + name + ".safetensors")
	if err != nil {
		return nil, config.Bad("init_from", from, "a file, or one of "+strings.Join(builtinModels(), ", "))
	}
	return b, nil
}

func builtinModels() (names []string) {
	files, _ := fs.Glob(pretrained, "pretrained/*")
	for _, f := range files {
		names = append(names, builtinPrefix+strings.TrimSuffix(strings.TrimPrefix(f, "pretrained/"),
			".safetensors"))
	}
	return names
}
