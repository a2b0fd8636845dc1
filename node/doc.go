// Package node runs one agent of a decentralized algorithm as a peer among peers: the
// same state machine that package sim steps, with its owner's gate, ledger and key, over
// a network that loses, delays and repeats.
//
// A node is handed its algorithm, its gate and its row of the mixing matrix. It never
// sees data: what it holds, sends, logs and stores is post-processing of charged
// releases. One round:
//
//	wait for the frames of all in-neighbors for this round, or for the deadline
//	Step(Round), gate: charge (durable), evaluate, add noise, Step(Answer)
//	store algorithm state, outbox, and number and hash of the ledger's head, durably
//	send the stored bytes until every out-neighbor has taken them
//
// After a crash the node goes on from the stored file. Neighbors hear a hello with its
// round and send again what they still hold; frames are kept for the present and the
// round before, which is as far as a barrier lets neighbors drift apart. An answer that
// was charged but not stored is lost: the round is stepped again with a new charge and a
// new key, never with old noise.
//
// Where links have one direction, or change from round to round, frames do not tell both
// ends how far the other is. Every node then tells those whom it hears which round it has
// reached and stored, and waits for those who hear it, so that two rounds are kept there
// too, and no message of push-sum is lost, nor its mass.
//
// Where chance draws links, in both directions, a node passes the rounds in which it has
// no neighbor at once, and waits in others for those neighbors alone.
//
// Algorithms without rounds are stepped when the node's own Poisson clock rings, with the
// newest message of every neighbor that was heard so far, and nobody waits for anybody.
// What a wake took in is stored with what came of it, and reported, so that a run can be
// replayed from its records.
//
// Package roster has who takes part, which every member signs, and what an owner allows,
// whatever an experiment asks for. [Transport] carries frames; its conformance
// suite is package nodetest, package wire the twin in memory, package p2p the network.
package node
