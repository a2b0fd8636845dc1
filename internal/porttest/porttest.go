// Package porttest finds ports for the nodes of tests.
package porttest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
)

// The range lies below the ports that systems give to whoever asks for any. One of those
// may go to a stranger after it was found free and before it is used.
const (
	first = 20_000
	count = 12_000
)

// held are datagram sockets, open until the process ends: they keep the ports of nodes
// that have not begun from tests of other processes.
var (
	mu   sync.Mutex
	held []net.PacketConn
)

// Free returns a port of the loopback interface that nobody listens on, another one each
// time, to all processes that ask here.
func Free() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	var last error
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(count))
		if err != nil {
			return 0, err
		}
		address := fmt.Sprintf("127.0.0.1:%d", first+n.Int64())
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			last = err
			continue
		}
		held = append(held, c)
		l, err := net.Listen("tcp", address)
		if err != nil {
			last = err
			continue
		}
		return first + int(n.Int64()), l.Close()
	}
	return 0, errors.Join(errors.New("porttest: no free port"), last)
}
