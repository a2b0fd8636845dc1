//go:build operator

package main

import (
	"github.com/spf13/cobra"

	"sotto/cmd/sotto/complete"
)

// studies are none in a program for owners: what plots and reproduces is not linked.
func studies() []*cobra.Command { return nil }

func searchParams() any { return nil }

func namesOfStudies() complete.Names { return complete.Names{} }

// simulateQuestions is nil in a program that simulates nothing.
var simulateQuestions func(cmd *cobra.Command, f *queryFlags, file string, text []byte) (string, error)
