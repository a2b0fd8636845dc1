// Package golden holds what the program does today, to the bit: run files, and the
// digests of what their runs leave. Its test runs them again with a program that it
// builds, so that packages may move and be renamed below the command line while every
// byte stays. It imports nothing of sotto; what knows the command line is in
// drive_test.go and in the lists of commands_test.go.
//
//	go test ./internal/golden                # compares
//	go test ./internal/golden -update        # makes all golden files again
//	go test ./internal/golden -update-words  # the sentences alone
//
// Golden files are in testdata/golden: fma.txt and portable.txt, of kernels with and
// without fused multiply-add (AVX2 and AVX-512 have the same bits, and SOTTO_CPU chooses
// between them here too), commands.txt, and words.txt, what people read, which may be
// said better. Figures change with the engine's version only, and -update is for that.
//
// testdata/checkpoints and testdata/node are what a program of earlier days has left in
// the middle of runs. Programs to come must read them: they are never made again.
// -update-fixtures makes those that are missing.
package golden
