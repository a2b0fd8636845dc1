package main

import "sotto/experiment/figurecache"

// rememberFigures runs a simulation or its plan with the figures of those before. What is
// run must state no guarantee: see figurecache.
func rememberFigures(simulate func() error) error {
	c := figurecache.Open()
	err := simulate()
	_ = c.Save() // it saves time the next time, and nothing depends on it
	return err
}
