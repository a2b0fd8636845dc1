package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meter has the histograms of what a node waits for in this process. It belongs to no
// checkpoint.
type meter struct{ step, store, answer latency }

// latency is a histogram of seconds.
type latency struct{ prometheus.Histogram }

// since counts what began at a time and is over now.
func (l latency) since(began time.Time) { l.Observe(time.Since(began).Seconds()) }

func newMeter() *meter {
	make := func(name, help string) latency {
		return latency{prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(.0005, 4, 10)})} // to about two minutes
	}
	return &meter{
		// How long an answer takes depends on the batch that was drawn for it, which is
		// private; with a pad that is long enough it does not.
		step: make("sotto_step_seconds",
			"Answers of the data, with their pad. Nothing is counted without --pad."),
		store: make("sotto_store_seconds",
			"Writing and syncing the checkpoint of a step."),
		answer: make("sotto_neighbor_answer_seconds",
			"From sending a frame to the neighbor's answer that it was taken."),
	}
}

// Histograms are those of what this process of a node waits for.
func Histograms(n *Node) prometheus.Collector { return n.meter }

// Describe implements prometheus.Collector.
func (m *meter) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, ch) }

// Collect implements prometheus.Collector.
func (m *meter) Collect(ch chan<- prometheus.Metric) {
	m.step.Collect(ch)
	m.store.Collect(ch)
	m.answer.Collect(ch)
}
