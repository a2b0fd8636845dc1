// Package tomltext is what every TOML file goes through before it is decoded.
package tomltext

import (
	"bytes"

	"sotto/config"
)

// Of is the text of a file without the UTF-8 byte order mark that some editors begin one
// with. UTF-16 is a *config.Error; file names it.
func Of(file string, b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return nil, &config.Error{File: file, Line: 1, Found: "text in UTF-16", Allowed: "UTF-8"}
	}
	return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), nil
}
