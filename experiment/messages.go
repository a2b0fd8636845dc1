package experiment

import (
	"sotto/agent"
	"sotto/algo"
	"sotto/config"
)

// validateMessages refuses rounding where exact sums matter.
func (p *algorithmParams) validateMessages() error {
	switch p.Messages {
	case "", "float32":
		return nil
	case bf16Messages:
		if p.Name == "dsgd" || p.Name == "gossip-sgd" {
			return nil
		}
		return config.Bad("messages", p.Messages, "float32 with algorithm "+p.Name+
			": only dsgd and gossip-sgd send models that are averaged, whose rounding errors do not add up")
	}
	return config.Bad("messages", p.Messages, "float32 or bf16")
}

const bf16Messages = "bf16"

// rounded lets an algorithm send what the run file asks for.
func (p *algorithmParams) rounded(a agent.Algorithm) agent.Algorithm {
	if p.Messages == bf16Messages {
		return algo.Rounded(a)
	}
	return a
}

// messageSize is the length of a message on the wire.
func (p *algorithmParams) messageSize(dim int) int {
	if p.Messages == bf16Messages {
		return agent.MessageSizeBF16(dim)
	}
	return agent.MessageSize(dim)
}
