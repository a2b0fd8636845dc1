package reproduce

import "context"

func convergence(ctx context.Context, scale Scale, workers int) (*Document, error) {
	return &Document{}, nil
}
func theorem51(ctx context.Context, scale Scale, workers int) (*Document, error) {
	return &Document{}, nil
}
