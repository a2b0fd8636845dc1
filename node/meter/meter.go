// Package meter has how long the steps of a node take, and histograms of how long it
// waits for its data, its disk and its neighbors.
package meter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Meter has the histograms of one process.
type Meter struct{ Step, Store, Answer Latency }

// A Latency is a histogram of seconds.
type Latency struct{ prometheus.Histogram }

// Since counts what began at a time and is over now.
func (l Latency) Since(began time.Time) { l.Observe(time.Since(began).Seconds()) }

// New returns histograms with no counts.
func New() *Meter {
	make := func(name, help string) Latency {
		return Latency{prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(.0005, 4, 10)})} // to about two minutes
	}
	return &Meter{
		// How long an answer takes depends on the batch that was drawn for it, which is
		// private; with a pad that is long enough it does not, and whether it was long
		// enough is the owner's to know.
		Step: make("sotto_step_seconds",
			"Answers of the data, with their pad. Nothing is counted without --pad."),
		Store: make("sotto_store_seconds",
			"Writing and syncing the checkpoint of a step."),
		Answer: make("sotto_neighbor_answer_seconds",
			"From sending a frame to the neighbor's answer that it was taken."),
	}
}

// Describe implements prometheus.Collector.
func (m *Meter) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, ch) }

// Collect implements prometheus.Collector.
func (m *Meter) Collect(ch chan<- prometheus.Metric) {
	m.Step.Collect(ch)
	public{m}.Collect(ch)
}

// Public are the histograms without that of answers.
func (m *Meter) Public() prometheus.Collector { return public{m} }

// public tells of a meter what follows from nothing private.
type public struct{ m *Meter }

// Describe implements prometheus.Collector.
func (p public) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, ch) }

// Collect implements prometheus.Collector.
func (p public) Collect(ch chan<- prometheus.Metric) {
	p.m.Store.Collect(ch)
	p.m.Answer.Collect(ch)
}
