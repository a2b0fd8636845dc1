package adad2p

import (
	"fmt"
	"math"
	"slices"

	"sotto/reproduce"
)

// cnnSigmas are the noise scales at which the paper compares all methods: those of its
// figures 3(c) and 2.
var cnnSigmas = []string{"0.001", "0.002", "0.04"}

// cnnBound and cnnBatchBound are G of single records and of batches of 64 on this network
// by the paper's procedure, rounded up; a test compares them with the rows of
// seed002-norms.
const (
	cnnBound      = 255
	cnnBatchBound = 25
)

// cnnPushes are the runs of figures 1 to 3 with single records: all methods at the scales
// at which the paper compares them, AdaD2P at the others; then ConstD2P with our own G.
func cnnPushes() []push {
	s := setups["cifar-10-cnn"]
	list := compared("cifar-10-cnn", "", cnnSigmas)
	for _, sigma := range s.sigmas {
		if !slices.Contains(cnnSigmas, sigma) {
			list = append(list, push{
				mode:   "replication",
				data:   "cifar-10-cnn",
				method: "adad2p",
				noise:  "sigma " + sigma,
				step:   s.step,
			})
		}
	}
	for _, sigma := range cnnSigmas {
		list = append(list, push{
			mode:   "replication",
			data:   "cifar-10-cnn",
			method: "constd2p",
			noise:  "sigma " + sigma,
			step:   s.step,
			clip:   cnnBound,
		})
	}
	return list
}

// cnnBatchPushes are the runs of cnnSigmas with batches of 64, each of which takes as
// long as fifteen of the others, with the largest of the paper's clips: first the largest
// noise scale, where the paper's methods are furthest apart, and there ConstD2P also with
// our own G; then the smaller ones, and last ConstD2P with our own G at these.
func cnnBatchPushes() []push {
	s := setups["cifar-10-cnn"]
	at := func(sigmas ...string) []push {
		return slices.DeleteFunc(compared("cifar-10-cnn", batched, sigmas), func(p push) bool {
			return p.method == "clipd2p" && p.clip != s.clips[len(s.clips)-1]
		})
	}
	ours := func(sigma string) push {
		return push{
			mode:   "replication",
			data:   "cifar-10-cnn",
			method: "constd2p",
			noise:  "sigma " + sigma,
			form:   batched,
			step:   s.step,
			clip:   cnnBatchBound,
		}
	}
	list := append(at("0.04"), ours("0.04"))
	list = append(list, slices.DeleteFunc(at("0.001", "0.002"), func(p push) bool {
		return p.method == "sgp" // it is there
	})...)
	return append(list, ours("0.001"), ours("0.002"))
}

// cnnReport is scaleReport with what is said of the small network.
func cnnReport(figure string, runs func() []push, compared ...string) func(
	*reproduce.Results) *reproduce.Document {
	return func(f *reproduce.Results) *reproduce.Document {
		d := scaleReport(figure, runs, compared...)(f)
		if figure != "cnn" { // one scale of AdaD2P
			d.Figures = d.Figures[2:]
		}
		r := collectPush(f)
		d.Notes = append(d.Notes, r.losses(runs())...)
		for _, p := range runs() {
			if diverged := r.diverged(p); diverged > 0 {
				d.Notes = append(d.Notes, fmt.Sprintf("%s, %s: %d of %d runs diverge: at the end the mean "+
					"loss on test records is not finite. Records without a finite gradient then count as "+
					"zero, and models stay as they are", p.noise, p.name(), diverged, len(r.Of(p))))
			}
		}
		s := setups["cifar-10-cnn"]
		size := s.size(reproduce.Full, "cifar-10-cnn")
		d.Notes = append(d.Notes,
			fmt.Sprintf("a network of two convolutions and two linear layers with %.0f parameters (model "+
				"cnn) in place of ResNet-18's 11.2 million; the first of CIFAR-10's five files, %.0f "+
				"records an agent in place of 2,500; accuracy in percent of %d agents on the first %d "+
				"test records",
				s.dim, s.records, size.agents, size.limit),
			fmt.Sprintf("G = %g is the paper's, measured on ResNet-18. The further noise scales of the "+
				"paper's appendix D are not in the text that was reproduced", s.bound))
		bound := cnnBound
		if figure == "cnn64" {
			bound = cnnBatchBound
		}
		d.Notes = append(d.Notes, fmt.Sprintf("G = %d is that of the paper's procedure on this network "+
			"(seed002-norms), rounded up to a whole number", bound))
		return d
	}
}

// diverged counts the runs whose models end without a finite loss.
func (r pushRows) diverged(p push) int {
	count := 0
	for _, row := range r.Of(p) {
		if x := row.Loss; math.IsNaN(x) || math.IsInf(x, 0) {
			count++
		}
	}
	return count
}
