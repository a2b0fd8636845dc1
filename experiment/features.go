package experiment

import (
	"cmp"
	"fmt"
	"strings"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/sim"
)

// A Refusal is one row of the matrix of features: what a run file may not ask for
// together. Rows look at traits of the algorithm, of its queries and of the mechanism, so
// that a new one of these needs no row.
type Refusal struct {
	key   string // section and key
	found func(f *File) any
	when  func(f *File) bool
	// allowed says what may stand there; {algorithm} and {mechanism} are their names.
	allowed string
}

// Check returns the first refusal that holds for the file.
func (f *File) Check(rows []Refusal) error {
	for _, r := range rows {
		if r.when(f) {
			return f.Refuse(r.key, r.found(f), r.allowed)
		}
	}
	return nil
}

// Refuse is the error of a dotted key.
func (f *File) Refuse(key string, found any, allowed string) error {
	section, key, ok := strings.Cut(key, ".")
	if !ok {
		section, key = "", section
	}
	text := strings.NewReplacer("{algorithm}", f.Algorithm.Name, "{mechanism}",
		f.Privacy.Mechanism).Replace(allowed)
	return f.At(section, config.Bad(key, found, text))
}

// Has reports that the algorithm has all of these traits.
func (f *File) Has(t algo.Traits) bool { return f.Spec.Traits.Has(t) }

// Lacks reports that the algorithm does not have all of these traits.
func (f *File) Lacks(t algo.Traits) bool { return !f.Has(t) }

// Kind is the oracle that the algorithm asks for every private answer in the run's unit;
// of personal models, the one of their gradients.
func (f *File) Kind() oracle.Kind {
	for _, name := range f.Spec.Asks {
		k := oracle.Kinds[name]
		if k.Owner && f.Privacy.unit == account.Owner() || k.Record && f.Privacy.unit == account.Record() ||
			k.Person && f.Privacy.perPerson() {
			return k
		}
	}
	return oracle.Kind{}
}

// InRounds reports whether agents step in synchronous rounds.
func (f *File) InRounds() bool { return f.Pacing == agent.PacingRounds }

// Clocked reports whether agents wake by their own clocks, alone or in pairs.
func (f *File) Clocked() bool { return f.Pacing.Clocked() }

// Private reports whether the run has noise.
func (f *File) Private() bool { return f.Mechanism().Noisy() }

// drawnTogether are the data sets whose test part is one draw over all records.
var drawnTogether = map[string]bool{"houses": true, "made-ratings": true, "movielens": true}

// features is the matrix.
var features = []Refusal{
	{"algorithm.messages", func(f *File) any { return f.Algorithm.Messages },
		func(f *File) bool { return f.Algorithm.Short() && f.Lacks(algo.SendsModels) },
		"float32 with algorithm {algorithm}: only algorithms that send models which are averaged may " +
			"round them, as their errors do not add up"},
	{"topology.agents", func(f *File) any { return f.Topology.Agents },
		func(f *File) bool { return f.Has(algo.Central) && f.Topology.Agents != 1 },
		"1 with algorithm {algorithm}, which holds all data at one agent"},
	{"evaluate.rmse", func(f *File) any { return f.Evaluate.RMSE },
		func(f *File) bool { return f.Evaluate.RMSE && f.Model.Name != "least-squares" },
		"false: only the loss of model least-squares is a squared error"},
	{"evaluate.gradients", func(f *File) any { return f.Evaluate.Gradients },
		func(f *File) bool { return f.Evaluate.Gradients > 0 && !f.InRounds() },
		"0, or with an algorithm that has rounds the number of training records"},

	// Owners' own models.
	{PersonalSection + ".enabled", func(f *File) any { return f.Model.Personal.Enabled },
		func(f *File) bool {
			return f.Model.Personal.Enabled && (!f.InRounds() || f.Has(algo.OneRelease) ||
				f.Has(algo.Silent) || f.Has(algo.Central))
		}, "false with algorithm {algorithm}: all owners have to train one model that is not theirs alone"},
	{PersonalSection + ".enabled", func(f *File) any { return f.Model.Personal.Enabled },
		func(f *File) bool { return f.Model.Personal.Enabled && f.Mechanism().Perturbs },
		"false with mechanism {mechanism}: records are perturbed"},
	{"evaluate.on", func(f *File) any { return f.Evaluate.On },
		func(f *File) bool { return f.Model.Personal.Enabled && f.Evaluate.On != "own" },
		"own with [personal]: an owner's model is for its own records"},

	// Graphs.
	{"topology.weights", func(f *File) any { return f.Topology.Weights },
		func(f *File) bool { return f.Has(algo.OwnModels) && f.Topology.Weights != objectiveWeights },
		"objective with algorithm {algorithm}, whose weights are those of its objective"},
	{"topology.weights", func(f *File) any { return f.Topology.Weights },
		func(f *File) bool { return f.Lacks(algo.OwnModels) && f.Topology.Weights == objectiveWeights },
		"mixing weights, such as metropolis, with algorithm {algorithm}"},
	{"topology.vectors", func(f *File) any { return f.Topology.Vectors },
		func(f *File) bool {
			return f.Clocked() && f.Topology.Vectors != "" && f.Topology.Vectors != "hidden" &&
				f.Topology.Vectors != "data"
		}, "one of data, hidden"},
	{"topology.vectors", func(f *File) any { return f.Topology.Vectors },
		func(f *File) bool { return f.Topology.Vectors != "" && !comparesVectors(f) },
		"nothing, or a graph of similar agents: knn, similarity"},
	{"topology.graph", func(f *File) any { return f.Topology.Graph },
		func(f *File) bool { return !f.InRounds() && (f.Topology.Directed() || f.Topology.Dropout != 0) },
		"an undirected graph without dropout for algorithm {algorithm}, which has no rounds"},
	{"topology.wake", func(f *File) any { return f.Topology.Wake },
		func(f *File) bool {
			return f.Topology.Wake != "" && (f.Topology.Wake != pairWake || f.Lacks(algo.OneRelease))
		},
		"nothing, or pair with algorithm gossip-average"},
	{"topology.dropout", func(f *File) any { return f.Topology.Dropout },
		func(f *File) bool { return f.Topology.Dropout != 0 && f.Has(algo.FixedGraph) },
		"0 with algorithm {algorithm}: every round would have weights of its own, and no bound of alpha " +
			"that is known before"},
	{"topology.wake", func(f *File) any { return f.Topology.Wake },
		func(f *File) bool { return f.Topology.Wake == pairWake && f.Mechanism().Pairwise },
		"nothing with mechanism {mechanism}, whose noise neighbors of all rounds share"},

	// Data.
	{"data.dataset", func(f *File) any { return f.Data.Dataset },
		func(f *File) bool { return f.Privacy.adjacency.HidesCount() && drawnTogether[f.Data.Dataset] },
		"another under add-remove: one record more would draw anew which others train"},
	{"data.augmentations", func(f *File) any { return f.Data.Augmentation.Views },
		func(f *File) bool { return f.Data.augmented() && !f.Kind().Augment },
		"none with algorithm {algorithm}"},
	{"data.arrival", func(f *File) any { return f.Data.Arrival },
		func(f *File) bool { return f.Data.Arrival != "" && (f.Pace.Walking || !f.Kind().Arrives) },
		"nothing with algorithm {algorithm}"},
	{"data.arrival", func(f *File) any { return f.Data.Arrival },
		func(f *File) bool { return f.Data.Arrival != "" && f.Topology.Vectors == "data" },
		"nothing with vectors = \"data\": the graph would know records that have not come"},
	{"model.name", func(f *File) any { return f.Model.Name },
		func(f *File) bool { return f.Has(algo.OneRelease) && f.Model.Name != "mean" },
		"mean with algorithm {algorithm}"},
	{"model.init_from", func(f *File) any { return f.Model.InitFrom },
		func(f *File) bool { return f.Has(algo.OneRelease) && f.Model.InitFrom != "" },
		"nothing with algorithm {algorithm}"},

	// Faults.
	{"faults.adversaries", func(f *File) any { return f.Adversaries.Agents },
		func(f *File) bool {
			return len(f.Adversaries.Agents) > 0 &&
				(!f.InRounds() || f.Has(algo.Central) || f.Has(algo.Silent))
		},
		"none with algorithm {algorithm}: only agents that send to all neighbors in every round attack"},
	{"faults.late", func(f *File) any { return f.Faults.Late },
		func(f *File) bool { return f.Has(algo.Mass) && f.Faults.Late == "use" && f.Faults.Delay > 0 },
		"discard with algorithm {algorithm}: the mass of a message that a newer one replaces would be lost"},

	{"faults.symmetric", func(f *File) any { return f.Faults.Symmetric },
		func(f *File) bool { return f.Faults.Symmetric && f.Faults.Drop == 0 && f.Faults.Delay == 0 },
		"false without drop or delay, of which both directions of a link would share the fate"},
	{"faults.max_delay", func(f *File) any { return f.Faults.MaxDelay },
		func(f *File) bool {
			return f.Faults.MaxDelay != sim.DefaultFaults().MaxDelay && f.Faults.Delay == 0
		},
		"nothing without delay"},
	{"faults.late", func(f *File) any { return f.Faults.Late },
		func(f *File) bool { return f.Faults.Late != sim.DefaultFaults().Late && f.Faults.Delay == 0 },
		"nothing without delay"},
	{"faults.churn_period", func(f *File) any { return f.Faults.ChurnPeriod },
		func(f *File) bool { return f.Faults.ChurnPeriod != 0 && f.Faults.Churn == 0 },
		"nothing without churn"},

	// Evaluation.
	{"evaluate.on", func(f *File) any { return f.Evaluate.On },
		func(f *File) bool { return f.Pace.Walking && f.Evaluate.On == "own" },
		"all or validation with algorithm {algorithm}, whose models are nobody's own"},
	{"evaluate.agents", func(f *File) any { return f.Evaluate.Agents },
		func(f *File) bool {
			e := &f.Evaluate
			return f.Pace.Walking && (e.Agents != 0 || e.Score != "" || e.Estimation)
		},
		"0, without score and estimation, with algorithm {algorithm}: its tokens are tested"},
	{"evaluate.score", func(f *File) any { return f.Evaluate.Score },
		func(f *File) bool { return f.Evaluate.Score != "" && f.Mechanism().Pairwise },
		"nothing with mechanism {mechanism}"},
	{"evaluate.network", func(f *File) any { return true },
		func(f *File) bool { return f.Evaluate.Network && f.Lacks(algo.OneRelease) },
		"false: only values that are released once and then averaged (algorithm gossip-average) have an " +
			"exact view; with others every agent's later answers react to messages that an observer " +
			"never saw"},
	{"evaluate.network", func(f *File) any { return true },
		func(f *File) bool { return f.Evaluate.Network && !f.Mechanism().ExactView },
		"false: only normal noise of each agent's own has an exact view"},
	{"evaluate.network", func(f *File) any { return true },
		func(f *File) bool { return f.Evaluate.Network && !f.Faultless() },
		"false: with faults, or with agents that attack, mixing is not what was planned"},
	{"evaluate.network", func(f *File) any { return true },
		func(f *File) bool { return f.Evaluate.Network && f.Topology.Agents > maxObservers },
		fmt.Sprintf("false: more than %d agents; sotto account network computes single observers",
			maxObservers)},
	{"evaluate.network", func(f *File) any { return true },
		func(f *File) bool { return f.Evaluate.Network && f.Replication.On() },
		"false: no switch of [replication]"},

	// Privacy.
	{"privacy.unit", func(f *File) any { return f.Privacy.Unit },
		func(f *File) bool { return f.Privacy.unit == account.Owner() && f.Lacks(algo.OwnerUnit) },
		"another with algorithm {algorithm}, which does not protect owners as wholes"},
	{"privacy.unit", func(f *File) any { return f.Privacy.Unit },
		func(f *File) bool { return f.Privacy.perPerson() && !(f.InRounds() && servesPersons(f)) },
		"record with algorithm {algorithm}: only algorithms that work in rounds, and all of whose answers " +
			"clip whole persons, protect them"},
	{"privacy.mechanism", func(f *File) any { return f.Privacy.Mechanism },
		func(f *File) bool { return f.Privacy.perPerson() && f.Private() && !f.Mechanism().ExactView },
		"gaussian or none with unit person"},
	{"replication", func(f *File) any { return f.Replication.String() },
		func(f *File) bool { return f.Privacy.perPerson() && f.Replication.Stated() },
		"nothing with unit person"},
	{"data.augmentations", func(f *File) any { return f.Data.Augmentation.Views },
		func(f *File) bool { return f.Privacy.perPerson() && f.Data.augmented() }, "none with unit person"},
	{"data.arrival", func(f *File) any { return f.Data.Arrival },
		func(f *File) bool { return f.Data.UnitColumn != "" && f.Data.Arrival != "" },
		"nothing with unit_column: records would arrive one by one"},
	{"evaluate.score", func(f *File) any { return f.Evaluate.Score },
		func(f *File) bool { return f.Privacy.unit != account.Record() && f.Evaluate.Score != "" },
		"nothing, or unit record: a score bounds the part of one record"},
	{"privacy.mechanism", func(f *File) any { return f.Privacy.Mechanism },
		func(f *File) bool { return f.Mechanism().Clocked && !f.Clocked() },
		"gaussian or none with algorithm {algorithm}, which clips in L2 and has no personal models"},
	{"privacy.mechanism", func(f *File) any { return f.Privacy.Mechanism },
		func(f *File) bool { return f.Mechanism().Pairwise && f.Lacks(algo.EqualAnswers) },
		"gaussian with algorithm {algorithm}: shared noise cancels only where all agents answer as many " +
			"queries of one clip in the same rounds"},
	{"privacy.noise", func(f *File) any { return cmp.Or(f.Privacy.Noise, exactNoise) },
		func(f *File) bool {
			return f.Model.Precision == "bf16" && f.Mechanism().Exact && f.Privacy.Noise != fastNoise
		},
		"fast with precision bf16: nothing proven bounds the rounding of its sums, and fast leaves it out " +
			"of the figure and says so"},
	{"privacy.clipping", func(f *File) any { return f.Privacy.clippingFound() },
		func(f *File) bool { return f.Privacy.Clipping != (algo.Clipping{}) && !f.InRounds() },
		"nothing with algorithm {algorithm}, which has no rounds"},
	{"privacy.clipping", func(f *File) any { return f.Privacy.Kind },
		func(f *File) bool { return f.Privacy.Adaptive() && f.Lacks(algo.ClipFromAnswer) },
		"constant with algorithm {algorithm}"},
	{"privacy.clipping", func(f *File) any { return f.Privacy.Kind },
		func(f *File) bool { return f.Privacy.Adaptive() && f.Mechanism().Pairwise },
		"constant with mechanism {mechanism}: noise of two clips would not cancel"},
}

// undeployable is what a daemon does not run.
var undeployable = []Refusal{
	{"algorithm.name", func(f *File) any { return f.Algorithm.Name },
		func(f *File) bool { return f.Has(algo.Central) }, "an algorithm among agents"},
	{"token.hops", func(f *File) any { return f.Token.Hops },
		func(f *File) bool { return f.Pace.Walking && f.Token.Hops != "secret" },
		"secret: every daemon draws the hops of its own visits"},
	{"token.accounting", func(f *File) any { return f.Token.Accounting },
		func(f *File) bool { return f.Pace.Walking && f.Token.Accounting != "local" },
		"local: a daemon shows its final tokens to all members, who are no observers of single visits then"},
	{"clock.replay", func(f *File) any { return f.Clock.Replay },
		func(f *File) bool { return f.Clock.Replay != "" }, "nothing: daemons wake by their own clocks"},
	{"data.arrival", func(f *File) any { return f.Data.Arrival },
		func(f *File) bool { return f.Data.Arrival != "" }, "nothing: it is for simulations"},
	{"privacy.noise_multiplier", func(f *File) any { return f.Privacy.NoiseMultiplier },
		func(f *File) bool { return f.Mechanism().Pairwise && f.Privacy.NoiseMultiplier == 0 },
		"above 0 with mechanism {mechanism} among daemons: no member knows what the others' targets need, " +
			"and noise that they share must be equal"},
	{"data.partition", func(f *File) any { return f.Data.Partition },
		func(f *File) bool { return f.Data.Partition != "natural" },
		"natural: every owner holds its own records"},
	{"evaluate.validation", func(f *File) any { return f.Evaluate.Validation },
		func(f *File) bool { return f.Evaluate.Validation != 0 || f.Evaluate.Score != "" },
		"0, and no score: they are for simulations"},
	{"evaluate.folds", func(f *File) any { return f.Evaluate.Folds },
		func(f *File) bool { return f.Evaluate.Folds != 0 },
		"0: each fold is a run that costs its epsilon; cross-validation is for simulations"},
	{"evaluate.gradients", func(f *File) any { return f.Evaluate.Gradients },
		func(f *File) bool { return f.Evaluate.Gradients != 0 }, "0: no owner sees the records of others"},
	{"evaluate.figures", func(*File) any { return true },
		func(f *File) bool { return f.Evaluate.Figures },
		"false: they are for simulations; an owner's own figures are in own.json"},
	{"evaluate.metrics", func(f *File) any { return f.Evaluate.Metrics },
		func(f *File) bool { return len(f.Evaluate.Metrics) > 0 }, "none: they are for simulations"},
	{"evaluate.network", func(f *File) any { return true },
		func(f *File) bool { return f.Evaluate.Network },
		"false: it is for simulations, and for sotto account network --roster"},
	{"evaluate.estimation", func(f *File) any { return true },
		func(f *File) bool { return f.Evaluate.Estimation }, "false: an owner's data have no hidden vector"},
	{"faults", func(f *File) any { return "faults to inject" },
		func(f *File) bool { return f.Faults != sim.DefaultFaults() },
		"no section [faults]: a network has its own"},
	{"algorithm.records", func(f *File) any { return f.Algorithm.Records },
		func(f *File) bool { return f.Algorithm.Records == testRecords },
		"all: what a run held out for tests is asked in a simulation alone"},
}

// hollow is what a daemon refuses because a guarantee would be hollow or false.
var hollow = []Refusal{
	{"privacy.mechanism", func(f *File) any { return f.Privacy.Mechanism },
		func(f *File) bool { return !f.Mechanism().Deployable },
		"gaussian, decor, or laplace with an algorithm of personal models: a daemon releases nothing " +
			"without noise"},
	{"replication", func(f *File) any { return f.Replication.String() },
		func(f *File) bool { return f.Replication.Stated() },
		"nothing: a daemon does not do what is not sound"},
	{"privacy.batch_size", func(f *File) any { return f.Privacy.BatchSize },
		func(f *File) bool { return f.Privacy.SampleRate == 0 && f.Privacy.BatchSize != 0 && ownState(f) },
		"nothing, and sample_rate = 1, with own_state: an owner reads all its records in every round"},
	{"privacy.i_understand", func(f *File) any { return f.Privacy.IUnderstand },
		func(f *File) bool { return len(f.Privacy.IUnderstand) > 0 },
		"nothing: an owner's policy has no overrides"},
}

// CheckDeployable refuses what a daemon does not run.
func (f *File) CheckDeployable() error {
	if err := Unchanged(f); err != nil {
		return err
	}
	if err := f.Check(hollow); err != nil {
		return fmt.Errorf("%w: %w", privacy.ErrRefused, err)
	}
	return cmp.Or(f.Check(undeployable), f.At("data", data.CheckOwn(f.Data.Dataset)))
}

// Unplannable is what has no plan of equal charges.
var Unplannable = []Refusal{
	{"algorithm.name", func(f *File) any { return f.Algorithm.Name }, (*File).Clocked,
		"an algorithm of synchronous rounds or tokens: budgets of wakes are planned by each run"},
	{"privacy.mechanism", func(f *File) any { return f.Privacy.Mechanism },
		func(f *File) bool { return !f.Mechanism().normal() },
		"gaussian or decor: other runs have no cost, or none that follows from rounds alone"},
	{"replication", func(f *File) any { return f.Replication.String() },
		func(f *File) bool { return f.Replication.Stated() },
		"nothing: the run itself prints the claimed epsilon beside the true one"},
	{"evaluate.score", func(f *File) any { return f.Evaluate.Score },
		func(f *File) bool { return f.Evaluate.Score != "" }, "nothing: a score is charged on top"},
}

// Unheard is what an audit among nodes does not run.
var Unheard = []Refusal{
	{"algorithm.name", func(f *File) any { return f.Algorithm.Name },
		func(f *File) bool { return !f.InRounds() || f.Mechanism().Perturbs },
		"an algorithm that works in rounds, for an audit among nodes"},
	{"topology.agents", func(f *File) any { return f.Topology.Agents },
		func(f *File) bool { return f.Topology.Agents < 2 }, "at least 2 for an audit among nodes"},
	{"topology.dropout", func(f *File) any { return f.Topology.Dropout },
		func(f *File) bool { return f.Topology.Dropout != 0 },
		"0 for an audit among nodes: nobody may hear the step that is attacked"},
	{"topology.wake", func(f *File) any { return f.Topology.Wake },
		func(f *File) bool { return f.Topology.Wake != "" },
		"nothing for an audit among nodes: nobody may hear the step that is attacked"},
}

// Inexact is what has no exact view of an average.
var Inexact = []Refusal{
	{"algorithm.name", func(f *File) any { return f.Algorithm.Name },
		func(f *File) bool { return f.Lacks(algo.OneRelease) },
		"gossip-average: only values that are released once and then averaged have an exact view"},
	{"algorithm.name", func(f *File) any { return f.Algorithm.Name }, Asks,
		"gossip-average: an auditor brings values of its own, of which nothing is asked"},
	{"privacy.mechanism", func(f *File) any { return f.Privacy.Mechanism },
		func(f *File) bool { m := f.Mechanism(); return !m.ExactView && !m.Pairwise && m.Noisy() },
		"gaussian or decor: only normal noise has an exact view"},
	{"faults", func(*File) any { return "faults or attacks" },
		func(f *File) bool { return !f.Faultless() || f.Topology.Dropout != 0 },
		"none: mixing must be what was planned"},
}

// Faultless reports whether mixing is what was planned.
func (f *File) Faultless() bool { return f.Faults == sim.DefaultFaults() && f.Adversaries.Text() == "" }

// fixed is what keeps the members of a run from changing.
var fixed = []Refusal{
	{"algorithm.name", func(f *File) any { return f.Algorithm.Name },
		func(f *File) bool { return f.Lacks(algo.Joinable) },
		"an algorithm whose agents can go on from their models alone, where members change: dsgd, dsgt"},
	{"privacy.mechanism", func(f *File) any { return f.Privacy.Mechanism },
		func(f *File) bool { return !f.Mechanism().ExactView },
		"gaussian, where members change: noise that members share ends with those who leave"},
	{"topology.dropout", func(f *File) any { return f.Topology.Dropout },
		func(f *File) bool { return f.Topology.Dropout != 0 }, "0, where members change"},
	{"faults.adversaries", func(f *File) any { return f.Adversaries.Agents },
		func(f *File) bool { return len(f.Adversaries.Agents) > 0 }, "none, where members change"},
}
