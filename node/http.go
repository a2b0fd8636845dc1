package node

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sotto/config"
)

// CheckLocal refuses what is not a loopback address with a port: what a status tells is
// the owner's business.
func CheckLocal(address string) error {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return config.Bad("http", address, "a loopback address such as 127.0.0.1:7070")
	}
	return nil
}

// ListenLocal listens on an address that CheckLocal accepts.
func ListenLocal(address string) (net.Listener, error) {
	if err := CheckLocal(address); err != nil {
		return nil, err
	}
	return net.Listen("tcp", address)
}

// local refuses requests for another name than this machine's: a page from elsewhere that
// a browser on this machine shows may have its own name lead here, and would read the
// answer.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this address answers requests to localhost alone", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Serve answers GET /status (JSON), /metrics (Prometheus) and /healthz, which is 200
// while the node works and 503 after a failure, until l is closed.
func Serve(l net.Listener, status func() Status) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(status())
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if f := status().Failure; f != "" {
			http.Error(w, f, http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ok\n"))
	})
	r := prometheus.NewRegistry()
	r.MustRegister(collector{status})
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	s := &http.Server{
		Handler:           local(mux),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		MaxHeaderBytes:    1 << 14,
	}
	return s.Serve(l)
}

// collector turns a status into metrics.
type collector struct{ status func() Status }

var (
	peerDesc = prometheus.NewDesc("sotto_peer_state", "1 for the state that a neighbor is in.",
		[]string{"peer", "state"}, nil)
	gauges = []struct {
		desc  *prometheus.Desc
		kind  prometheus.ValueType
		value func(s *Status) float64
	}{
		{desc("sotto_round", "Rounds that are complete."), prometheus.GaugeValue, func(s *Status) float64 {
			return float64(s.Round)
		}},
		{desc("sotto_rounds", "Rounds of the experiment."), prometheus.GaugeValue, func(s *Status) float64 {
			return float64(s.Rounds)
		}},
		{desc("sotto_exhausted", "1 when the privacy budget is spent and the node only mixes."),
			prometheus.GaugeValue, func(s *Status) float64 {
				return float64(flag(s.Exhausted))
			}},
		{desc("sotto_finished", "1 when all rounds are complete."), prometheus.GaugeValue,
			func(s *Status) float64 {
				return float64(flag(s.Finished))
			}},
		{desc("sotto_failed", "1 when the node has stopped with an error."), prometheus.GaugeValue,
			func(s *Status) float64 {
				return float64(flag(s.Failure != ""))
			}},
		{desc("sotto_missing_frames_total", "Frames that rounds went on without."), prometheus.CounterValue,
			func(s *Status) float64 {
				return float64(s.Counts.Missing)
			}},
		{desc("sotto_one_sided_total", "Missing frames of peers that had taken this node's."),
			prometheus.CounterValue, func(s *Status) float64 {
				return float64(s.Counts.OneSided)
			}},
		{desc("sotto_skipped_rounds_total", "Rounds left out because the neighbors had moved on."),
			prometheus.CounterValue, func(s *Status) float64 {
				return float64(s.Counts.Skipped)
			}},
		{desc("sotto_refused_frames_total", "Frames that were malformed or not for this node."),
			prometheus.CounterValue, func(s *Status) float64 {
				return float64(s.Counts.Refused)
			}},
		{desc("sotto_sent_bytes_total", "Bytes of frames that peers have taken."), prometheus.CounterValue,
			func(s *Status) float64 {
				return float64(s.Counts.Bytes)
			}},
	}
	epsilonDesc  = desc("sotto_epsilon", "Epsilon charged to the data over all runs, upper bound.")
	lifetimeDesc = desc("sotto_epsilon_lifetime", "Epsilon that the owner allows over the life of the data.")
	recordsDesc  = desc("sotto_ledger_records_total", "Records of the owner's ledger, over all runs.")
)

func desc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.status()
	for _, g := range gauges {
		ch <- prometheus.MustNewConstMetric(g.desc, g.kind, g.value(&s))
	}
	if p := s.Privacy; p != nil {
		ch <- prometheus.MustNewConstMetric(epsilonDesc, prometheus.GaugeValue, p.Epsilon)
		ch <- prometheus.MustNewConstMetric(lifetimeDesc, prometheus.GaugeValue, p.Lifetime)
		ch <- prometheus.MustNewConstMetric(recordsDesc, prometheus.CounterValue, float64(p.Records))
	}
	for _, p := range s.Peers {
		ch <- prometheus.MustNewConstMetric(peerDesc, prometheus.GaugeValue, 1, p.Name, p.State.String())
	}
}
