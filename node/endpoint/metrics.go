package endpoint

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sotto/node"
)

// metrics answers with the metrics of the node. all: also with what the ledger says, the
// neighbors, how long answers take, and those of Go's runtime and of the process: their
// time and memory follow from how many records there are.
func (e *Endpoint) metrics(all bool) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{e.Status, all}, collectors.NewBuildInfoCollector())
	if all {
		r.MustRegister(collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if e.Node != nil {
		r.MustRegister(node.Histograms(e.Node, all))
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxConnections})
}

// collector turns a status into metrics.
type collector struct {
	status func() node.Status
	all    bool
}

// gauge is a metric that a status holds.
type gauge struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s *node.Status) float64
}

func newGauge(name, help string, value func(s *node.Status) float64) gauge {
	return gauge{desc(name, help), prometheus.GaugeValue, value}
}

func newCounter(name, help string, value func(s *node.Status) uint64) gauge {
	return gauge{
		desc(name, help),
		prometheus.CounterValue,
		func(s *node.Status) float64 { return float64(value(s)) },
	}
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// sinceLast is how long ago the last step was, or the start of the process.
func sinceLast(s *node.Status) float64 {
	last := s.Began
	if s.Last.After(last) {
		last = s.Last
	}
	if last.IsZero() {
		return 0
	}
	return time.Since(last).Truncate(time.Second).Seconds()
}

var (
	peerDesc = prometheus.NewDesc("sotto_peer_state", "1 for the state that a neighbor is in.",
		[]string{"peer", "state"}, nil)
	peerRoundDesc = prometheus.NewDesc("sotto_peer_round", "The latest round that a neighbor has shown.",
		[]string{"peer"}, nil)
	// gauges name no neighbor and say nothing of the ledger.
	gauges = []gauge{
		newGauge("sotto_round", "Rounds that are complete.",
			func(s *node.Status) float64 { return float64(s.Round) }),
		newGauge("sotto_rounds", "Rounds of the experiment.",
			func(s *node.Status) float64 { return float64(s.Rounds) }),
		newGauge("sotto_ready", "1 while the node goes on, 0 when it does not; /status says why.",
			func(s *node.Status) float64 { return yes(s.Ready) }),
		newGauge("sotto_since_last_round_seconds",
			"Time since the last round that this process completed, or since its start.", sinceLast),
		newGauge("sotto_finished", "1 when all rounds are complete.",
			func(s *node.Status) float64 { return yes(s.Finished) }),
		newGauge("sotto_failed", "1 when the node has stopped with an error.",
			func(s *node.Status) float64 { return yes(s.Failure != "") }),
		newCounter("sotto_missing_frames_total", "Frames that rounds went on without.",
			func(s *node.Status) uint64 { return s.Counts.Missing }),
		newCounter("sotto_one_sided_total", "Missing frames of peers that had taken this node's.",
			func(s *node.Status) uint64 { return s.Counts.OneSided }),
		newCounter("sotto_skipped_rounds_total", "Rounds left out because the neighbors had moved on.",
			func(s *node.Status) uint64 { return s.Counts.Skipped }),
		newCounter("sotto_refused_frames_total", "Frames that were malformed or not for this node.",
			func(s *node.Status) uint64 { return s.Counts.Refused }),
		newCounter("sotto_stale_frames_total", "Frames of rounds that had passed.",
			func(s *node.Status) uint64 { return s.Counts.Stale }),
		newCounter("sotto_replayed_frames_total", "Frames that had come before.",
			func(s *node.Status) uint64 { return s.Counts.Replayed }),
		newCounter("sotto_busy_total", "Meetings that this node or a neighbor had no time for.",
			func(s *node.Status) uint64 { return s.Counts.Busy }),
		newCounter("sotto_sent_bytes_total", "Bytes of frames that peers have taken.",
			func(s *node.Status) uint64 { return s.Counts.Bytes }),
	}
	// spending is what the ledger says.
	spending = []gauge{
		newGauge("sotto_epsilon", "Epsilon charged to the data over all runs, upper bound.",
			func(s *node.Status) float64 { return s.Privacy.Epsilon }),
		newGauge("sotto_epsilon_lifetime", "Epsilon that the owner allows over the life of the data.",
			func(s *node.Status) float64 { return s.Privacy.Lifetime }),
		newCounter("sotto_ledger_records_total", "Records of the owner's ledger, over all runs.",
			func(s *node.Status) uint64 { return s.Privacy.Records }),
		newGauge("sotto_exhausted", "1 when the budget of run or data is spent and the node only mixes.",
			func(s *node.Status) float64 { return yes(s.Exhausted) }),
		newCounter(
			"sotto_unanswered_total",
			"Queries that the budget refused, or that were not asked any more.",
			func(s *node.Status) uint64 { return s.Counts.Exhausted },
		),
	}
)

func desc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.status()
	put := func(gs []gauge) {
		for _, g := range gs {
			ch <- prometheus.MustNewConstMetric(g.desc, g.kind, g.value(&s))
		}
	}
	put(gauges)
	if !c.all {
		return
	}
	if s.Privacy != nil {
		put(spending)
	}
	for _, p := range s.Peers {
		ch <- prometheus.MustNewConstMetric(peerRoundDesc, prometheus.GaugeValue, float64(p.Round), p.Name)
		for i, name := range node.PeerStates {
			ch <- prometheus.MustNewConstMetric(peerDesc, prometheus.GaugeValue,
				yes(p.State == node.PeerState(i)), p.Name, name)
		}
	}
}
