package attack

import (
	"math"
	"slices"

	"sotto/agent"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// plantedFaults are those of a review of this program, by its names, and others.
func plantedFaults() []plantedFault {
	return slices.Concat(sizeFaults(), sharedFaults(), lawFaults(), clipFaults(), batchFaults(),
		chargeFaults(), messageFaults())
}

// large are images of full size: small differences of all noise show in many values.
var large = []string{"data.resize=0", "model.hidden=[8]"}

// sizeFaults are noise that is too small somewhere.
func sizeFaults() []plantedFault {
	return []plantedFault{
		seat("noise std -10 %", "noise", scaled(.9)),
		seat("noise std -5 %", "noise", scaled(.95), large...),
		seat("noise std -2 %", "noise", scaled(.98), large...),
		seat("last coordinate without any noise", "noise", each(func(z []float64) { z[len(z)-1] = 0 })),
		seat("last biases without any noise, in the message", "step", each(func(z []float64) {
			clear(z[len(z)-10:]) // the record moves two of them, not the last one
		})),
		seat("noise scaled by coordinate, its mean square right", "noise", each(func(z []float64) {
			for i := range z {
				z[i] *= math.Sqrt(.5 + float64(i)/float64(len(z)-1))
			}
		})),
		seat("noise where the gradient is not 0 alone", "noise",
			noise(func() change {
				return func(_ int, z []float64, value tensor.Vec) {
					for i := range z {
						if value[i] == 0 {
							z[i] = 0
						}
					}
				}
			})),
		seat("every tenth charge without noise", "noise", noise(func() change {
			return func(k int, z []float64, _ tensor.Vec) {
				if k%10 == 9 {
					clear(z)
				}
			}
		})),
		seat("first charge without noise", "step", noise(func() change {
			return func(k int, z []float64, _ tensor.Vec) {
				if k == 0 {
					clear(z)
				}
			}
		})),
		seat("adaptive clip's count without noise", "noise", mechanism(func(right privacy.Mechanism) perturb {
			return func(v *privacy.Value, r account.Release, c privacy.Charge) {
				count := v.Float[len(v.Float)-1]
				right.Perturb(v, r, c)
				v.Float[len(v.Float)-1] = count
			}
		}), "privacy.clipping=quantile", "privacy.clip_count_std=5"),
	}
}

// sharedFaults are noise that comes more than once.
func sharedFaults() []plantedFault {
	return []plantedFault{
		seat("every second coordinate repeats the noise of the one before", "noise", each(func(z []float64) {
			for i := 1; i < len(z); i += 2 {
				z[i] = z[i-1]
			}
		})),
		seat("every second coordinate repeats, in the message", "step", each(func(z []float64) {
			for i := 1; i < len(z); i += 2 {
				z[i] = z[i-1]
			}
		})),
		seat("one coordinate repeats another far away", "noise", each(func(z []float64) {
			z[len(z)-7] = z[3]
		})),
		seat("every second charge has the noise of the one before, with the other sign", "noise",
			noise(func() change {
				var before []float64
				return func(k int, z []float64, _ tensor.Vec) {
					for i := range z {
						if k%2 == 1 {
							z[i] = -before[i]
						}
					}
					before = slices.Clone(z)
				}
			})),
		seat("the second half of a vector repeats the first", "noise", each(func(z []float64) {
			copy(z[len(z)/2:], z)
		})),
		seat("one value of noise for all coordinates", "noise", each(func(z []float64) {
			for i := range z {
				z[i] = z[0]
			}
		})),
		seat("noise stream begins anew every 64 values", "noise", each(func(z []float64) {
			for i := 64; i < len(z); i++ {
				z[i] = z[i%64]
			}
		})),
	}
}

// lawFaults are noise of another law.
func lawFaults() []plantedFault {
	return []plantedFault{
		seat("noise cut off at three standard deviations", "noise", each(func(z []float64) {
			for i := range z {
				z[i] = max(-3, min(3, z[i]))
			}
		}), large...),
		seat("Laplace noise of the same variance", "noise", each(func(z []float64) {
			for i := range z {
				u := normalCDF(-math.Abs(z[i]))
				z[i] = math.Copysign(-math.Log(2*u)/math.Sqrt2, z[i])
			}
		})),
		seat("noise in proportion to the private norm", "noise", noise(func() change {
			return func(_ int, z []float64, value tensor.Vec) {
				norm := value.Norm()
				for i := range z {
					z[i] *= norm
				}
			}
		})),
		seat("noise of eight bits", "noise", each(func(z []float64) {
			for i := range z {
				z[i] = math.Round(z[i]*32) / 32
			}
		})),
		seat("float noise off the grid", "noise", mechanism(func(privacy.Mechanism) perturb {
			return func(v *privacy.Value, _ account.Release, c privacy.Charge) {
				z := make([]float64, len(v.Float))
				c.Noise.Normals(z)
				for i := range z {
					v.Float[i] += float32(z[i])
				}
			}
		})),
	}
}

// clipFaults are contributions that are too long.
func clipFaults() []plantedFault {
	return []plantedFault{
		seat("first layer times 2 after the clip", "step", evaluates(func(a ask) {
			a.of(a.g)
			a.dst.Float[:len(a.dst.Float)-50].Scale(2, a.dst.Float[:len(a.dst.Float)-50])
		})),
		seat("clip off", "step", evaluates(func(a ask) {
			a.of(unclipped(a.g))
		})),
		seat("clip of the batch mean", "step", evaluates(func(a ask) {
			a.of(unclipped(a.g))
			a.dst.Float.Scale(min(1, 1/a.dst.Float.Norm())*a.g.ExpectedBatchSize, a.dst.Float)
		})),
		seat("four augmented copies clipped one by one and added", "step", evaluates(func(a ask) {
			for range 4 {
				a.of(a.g)
			}
		})),
		seat("two draws of the batch under one noise", "step", evaluates(func(a ask) {
			a.of(a.g)
			a.of(a.g)
		})),
		seat("batch size read from the data", "noise", gradients(func(g *oracle.Gradient) *changed {
			return &changed{describe: func(r *account.Release) {
				r.Scale = 1 / float64(1+len(g.Records.Index))
			}}
		})),
		seat("a gradient that is not finite passes", "noise", evaluates(func(a ask) {
			a.of(a.g)
			if len(a.g.Records.Index) > 0 {
				a.dst.Float[0] = float32(math.NaN())
			}
		})),
	}
}

// batchFaults are batches of another law.
func batchFaults() []plantedFault {
	return []plantedFault{
		seat("batch of every odd charge drawn again", "sampler", gradients(func(g *oracle.Gradient) *changed {
			var n, seed uint64
			return &changed{evaluate: func(dst *privacy.Value, q *agent.Query, s *rng.Stream) {
				if n++; n%2 == 1 {
					seed = s.Uint64()
				}
				g.Evaluate(dst, q, rng.Public(seed, "again"))
			}}
		})),
		seat("sampler that favors one record", "sampler", evaluates(func(a ask) {
			if len(a.g.Records.Index) < 2 {
				a.of(a.g)
				return
			}
			first, others := a.g.Records.Index[:1], a.g.Records.Index[1:]
			a.of(rated(a.g, 2*a.g.SampleRate, first))
			a.of(rated(a.g, a.g.SampleRate*(1-1/float64(len(others))), others))
		})),
		seat("every record at twice the rate", "sampler", evaluates(func(a ask) {
			a.of(rated(a.g, min(1, 2*a.g.SampleRate), a.g.Records.Index))
		})),
		seat("records drawn two by two", "sampler", evaluates(func(a ask) {
			t, all := rng.Threshold(a.g.SampleRate)
			for i := 0; i < len(a.g.Records.Index); i += 2 {
				if a.s.Hit(t) || all {
					a.of(rated(a.g, 1, a.g.Records.Index[i:min(i+2, len(a.g.Records.Index))]))
				}
			}
		})),
		seat("batches with replacement", "sampler", evaluates(func(a ask) {
			half := a.g.SampleRate / 2
			if a.g.SampleRate >= 1 { // all are asked for
				half = 1
			}
			a.of(rated(a.g, half, a.g.Records.Index))
			if half < 1 {
				a.of(rated(a.g, half, a.g.Records.Index))
			}
		})),
		seat("fixed-size batches under a Poisson claim", "sampler", evaluates(func(a ask) {
			left := slices.Clone(a.g.Records.Index)
			for range max(1, int(a.g.SampleRate*float64(len(left)))) {
				if len(left) == 0 {
					return
				}
				k := int(a.s.Below(uint64(len(left))))
				a.of(rated(a.g, 1, left[k:k+1]))
				left = slices.Delete(left, k, k+1)
			}
		})),
		seat("sampler seeded by the round", "sampler", gradients(func(g *oracle.Gradient) *changed {
			round := uint64(0)
			return &changed{evaluate: func(dst *privacy.Value, q *agent.Query, _ *rng.Stream) {
				round++
				g.Evaluate(dst, q, rng.Public(1, "round", round))
			}}
		})),
	}
}

// chargeFaults are ledgers and keys that go wrong.
func chargeFaults() []plantedFault {
	return []plantedFault{
		seat("same key (sample and noise) for two charges", "noise", charges(func() charge {
			return func(l ledger.Ledger, ev account.Event) (uint64, error) {
				seq, err := l.Charge(ev)
				return seq / 2, err
			}
		})),
		seat("key not erased and used again from the tenth charge on", "noise", charges(func() charge {
			return func(l ledger.Ledger, ev account.Event) (uint64, error) {
				seq, err := l.Charge(ev)
				return min(seq, 10), err
			}
		})),
		{"ledger lost in a crash, keys begin anew", "noise", fault{target: forgets}, nil, 0},
		seat("second answer on one charge", "ledger", charges(func() charge {
			var n, last uint64
			return func(l ledger.Ledger, ev account.Event) (uint64, error) {
				if n++; n%2 == 0 {
					return last + 1<<40, nil
				}
				var err error
				last, err = l.Charge(ev)
				return last, err
			}
		})),
		seat("ledger charged with an event of twice the noise", "ledger", charges(func() charge {
			cheap, err := account.Gaussian(2, 1)
			if err != nil {
				panic(err)
			}
			return func(l ledger.Ledger, _ account.Event) (uint64, error) { return l.Charge(cheap) }
		})),
		{"ledger charged after the release", "ledger", chargedLate(), nil, 0},
		{"every third answer past the gate, without charge or noise", "ledger",
			fault{target: uncharged(3)}, nil, 0},
	}
}

// messageFaults are what neighbors get.
func messageFaults() []plantedFault {
	return []plantedFault{
		{"one neighbor gets the un-noised step", "step", fault{target: toNeighbors(1, 3, 1,
			func(_, bare tensor.Vec) tensor.Vec { return bare })}, nil, 0},
		{"a second neighbor gets the step with the opposite noise", "step", fault{target: toNeighbors(1, 3, 1,
			func(noisy, bare tensor.Vec) tensor.Vec {
				second := slices.Clone(bare)
				second.Scale(2, second)
				second.AddScaled(-1, noisy)
				return second
			})}, nil, 0},
		{"one neighbor's message is half as noisy", "step", fault{target: toNeighbors(1, 3, 1,
			func(noisy, bare tensor.Vec) tensor.Vec {
				second := slices.Clone(bare)
				second.Scale(.7, second)
				second.AddScaled(.3, noisy)
				return second
			})}, nil, 0},
		{"one neighbor gets un-noised steps from the third message on", "", fault{target: toNeighbors(1, 3, 3,
			func(_, bare tensor.Vec) tensor.Vec { return bare })}, nil, 0},
		{"the same, by step --message 3", "step", fault{target: toNeighbors(1, 3, 3,
			func(_, bare tensor.Vec) tensor.Vec { return bare })}, nil, 3},
	}
}
