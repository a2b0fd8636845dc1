package node_test

import (
	"testing"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/node/wire"
)

type memory struct{ *wire.Memory }

func (m memory) Open(_ testing.TB, i agent.ID) node.Transport { return m.Memory.Open(i) }

func TestMemoryConforms(t *testing.T) {
	nodetest.Transport(t, func(_ testing.TB, members int) nodetest.Network {
		return memory{wire.NewMemory(members, nodetest.MaxPayload)}
	})
}
