// Package experimenttest holds small run files that the tests of several packages share.
package experimenttest

// Small is a run in rounds on generated images.
const Small = `name = "small"
seed = 3
rounds = 12

[topology]
graph = "ring"
agents = 5

[data]
dataset = "glyphs"
train = 500
test = 100

[model]
name = "mlp"
hidden = [8]

[algorithm]
name = "dsgd"
step_size = 0.5

[privacy]
target_epsilon = 6
target_delta = 1e-4
max_grad_norm = 1
batch_size = 20
accountant = "rdp"

[evaluate]
every = 5

[faults]
drop = 0.1
`

// Personal is a run of personal models by clocks.
const Personal = `name = "personal"
seed = 5

[topology]
graph = "similarity"
agents = 24

[data]
dataset = "linear-tasks"
partition = "natural"
agents = 24
dim = 6
test = 30

[model]
name = "logistic"

[algorithm]
name = "bcd"
mu = 0.3
updates = 6

[privacy]
mechanism = "gaussian"
adjacency = "replace-one"
target_epsilon = 1
accountant = "gdp"

[clock]
wakes = 400

[evaluate]
on = "own"
every = 150
`

// KM is a fixed-point iteration on generated least squares.
const KM = `name = "km"
seed = 5
rounds = 40

[topology]
graph = "ring"
agents = 5

[data]
dataset = "least-squares"
partition = "natural"
records = 40
dim = 4
zeros = 2
noise = 0.3

[model]
name = "least-squares"

[algorithm]
name = "km"
operator = "forward-backward"
gamma = 0.15
l1 = 0.1

[privacy]
adjacency = "replace-one"
target_epsilon = 3
target_delta = 1e-3
sample_rate = 1.0
accountant = "pld"

[evaluate]
every = 20
estimation = true
`

// Average is a private average.
const Average = `
name = "average"
rounds = 40

[topology]
agents = 12
graph = "ring"

[data]
dataset = "values"
agents = 12
dim = 3
partition = "natural"

[model]
name = "mean"

[algorithm]
name = "gossip-average"
acceleration = "chebyshev"

[privacy]
unit = "owner"
adjacency = "replace-one"
noise_multiplier = 0.5
target_delta = 1e-3

[evaluate]
estimation = true
`

// Questions are asked of digits.
const Questions = `
name = "questions"
rounds = 24

[topology]
agents = 6
graph = "ring"

[data]
dataset = "glyphs"
train = 100
test = 20
partition = "iid"

[model]
name = "mean"

[algorithm]
name = "query"
acceleration = "chebyshev"
ask = ["count() by label", "histogram(\"400\", -0.1, 0.5, 1.1)"]
shares = [2, 1]

[privacy]
noise_multiplier = 2.0
target_delta = 1e-3
`

// Boosting is an additive model of few rounds.
const Boosting = `
name = "boosting"

[topology]
agents = 4
graph = "complete"

[data]
dataset = "logistic-regression"
agents = 4
records = 20
dim = 3
partition = "natural"

[model]
name = "additive"
bins = 2

[algorithm]
name = "boosting"

[privacy]
target_epsilon = 3
target_delta = 1e-3
`

// Newton is a regression of few rounds.
const Newton = `
name = "newton"

[topology]
agents = 4
graph = "complete"

[data]
dataset = "logistic-regression"
agents = 4
records = 20
dim = 3
partition = "natural"

[model]
name = "logistic"

[algorithm]
name = "newton"

[privacy]
target_epsilon = 3
target_delta = 1e-3
`

// Walk is models that walk.
const Walk = `name = "walk"
seed = 3
rounds = 300

[topology]
graph = "regular"
degree = 4
agents = 20

[data]
dataset = "logistic-regression"
agents = 20
records = 8
dim = 5
partition = "natural"

[model]
name = "logistic"
intercept = true

[algorithm]
name = "walk"
step_size = 0.1

[token]
count = 3

[privacy]
unit = "owner"
target_epsilon = 8
target_delta = 1e-4
max_grad_norm = 0.5
accountant = "gdp"

[evaluate]
every = 120
`

// Replicated is a publication that claims what is not sound.
const Replicated = `
rounds = %d
topology.graph = "path"
topology.agents = 2
model.hidden = [1]
data.train = %d
data.test = 20
algorithm.name = "%s"
[privacy]
adjacency = "%s"
max_grad_norm = 10.0
target_delta = 1e-5
batch_size = %d
%s
`

// Autoencoder is a run whose model has no classes: a format of rounds, agents, graph,
// algorithm, step size, keys of privacy and clip.
const Autoencoder = `
rounds = %d
topology.agents = %d
topology.graph = "%s"
data.train = 300
data.test = 60
algorithm.name = "%s"
algorithm.step_size = %g
[model]
name = "autoencoder"
hidden = [12, 5]
[privacy]
%s
max_grad_norm = %g
batch_size = 20
target_delta = 1e-3
`
