package live

import (
	"errors"
	"strings"
	"time"
)

// cell is the run of a cell that is looked at.
type cell struct {
	*Source
	stop    chan struct{} // ends its following
	looked  time.Time     // when a page last came or went
	viewers int           // that follow it now
}

// cell is the source of a cell's run, which is followed from the first look on. Where
// there are too many, that which was looked at longest ago is followed no more.
func (s *Server) cell(key, dir string) (*Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cells[key]; c != nil {
		c.looked = time.Now()
		return c.Source, nil
	}
	src, err := Read(dir)
	if err != nil {
		src, err = Read(strings.TrimSuffix(dir, partial))
	}
	if err != nil {
		return nil, err
	}
	if s.cells == nil || len(s.cells) >= mostCells && !s.evict() {
		return nil, errors.New("too many cells are looked at")
	}
	c := &cell{Source: src, stop: make(chan struct{}), looked: time.Now()}
	s.cells[key] = c
	s.follows.Go(func() { src.Follow(c.stop, false) })
	return src, nil
}

// evict ends the following of a cell that has no viewer. Server.mu is held.
func (s *Server) evict() bool {
	oldest := ""
	for key, c := range s.cells {
		if c.viewers == 0 && (oldest == "" || c.looked.Before(s.cells[oldest].looked)) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	close(s.cells[oldest].stop)
	delete(s.cells, oldest)
	return true
}

// views counts the viewers of a cell's run.
func (s *Server) views(src *Source, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cells {
		if c.Source == src {
			c.viewers, c.looked = c.viewers+more, time.Now()
		}
	}
}
