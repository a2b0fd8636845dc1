package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// File is one file of a published data set.
type File struct {
	Dataset string
	Path    string // below the data folder, with slashes
	Bytes   int64
	SHA256  string
	// URLs are public mirrors, tried in order; none where the file is not published in
	// this form.
	URLs []string
	// Member is the file's name inside the .tar.gz that URLs name; "" where URLs name the
	// file itself.
	Member string
}

// Files are those of all published data sets.
func Files() []File { return slices.Clone(files) }

// Check is [File.Check] of a published file below the data folder dir.
func Check(dir string, f File) error { return f.Check(filepath.Join(dir, filepath.FromSlash(f.Path))) }

const (
	uci   = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
	ntu   = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
	cifar = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
)

func mnistURLs(name string) []string {
	return []string{"https://ossci-datasets.s3.amazonaws.com/mnist/" + name,
		"https://storage.googleapis.com/cvdf-datasets/mnist/" + name}
}

func fashionURLs(name string) []string {
	return []string{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/" + name}
}

// cifarFile describes a file of the CIFAR-10 binary version; all have the same size.
func cifarFile(name, sum string) File {
	return File{"cifar-10", "cifar-10-batches-bin/" + name, 30_730_000, sum, []string{cifar},
		"cifar-10-batches-bin/" + name}
}

func mnistFile(name string, bytes int64, sum string) File {
	return File{"mnist", "mnist/" + name, bytes, sum, mnistURLs(name), ""}
}

func fashionFile(name string, bytes int64, sum string) File {
	return File{"fashion-mnist", "fashion-mnist/" + name, bytes, sum, fashionURLs(name), ""}
}

func heartFile(hospital string, bytes int64, sum string) File {
	name := "processed." + hospital + ".data"
	return File{"heart-disease", "heart-disease/" + name, bytes, sum, []string{uci + "heart-disease/" + name},
		""}
}

// files lists every published file, grouped by data set.
var files = []File{
	mnistFile("train-images-idx3-ubyte.gz", 9_912_422,
		"440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
	mnistFile("train-labels-idx1-ubyte.gz", 28_881,
		"3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
	mnistFile("t10k-images-idx3-ubyte.gz", 1_648_877,
		"8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
	mnistFile("t10k-labels-idx1-ubyte.gz", 4_542,
		"f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
	fashionFile("train-images-idx3-ubyte.gz", 26_421_880,
		"3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
	fashionFile("train-labels-idx1-ubyte.gz", 29_515,
		"a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
	fashionFile("t10k-images-idx3-ubyte.gz", 4_422_102,
		"346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
	fashionFile("t10k-labels-idx1-ubyte.gz", 5_148,
		"67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
	cifarFile("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
	cifarFile("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
	cifarFile("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
	cifarFile("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
	cifarFile("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
	cifarFile("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
	{"cifar-100", "cifar-100-binary-subset/train.bin", 15_370_000,
		"6d73b6740a5b8b5328fa83300e1972b20442e5e31c06e1cbef53bc26e0dcff32", nil, ""},
	{"cifar-100", "cifar-100-binary-subset/test.bin", 6_148_000,
		"3d733647349a3c53f9493c327179fcf1c5868882caa6c49276b9c382d6efa297", nil, ""},
	heartFile("cleveland", 18_461, "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8"),
	heartFile("hungarian", 10_263, "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796"),
	heartFile("switzerland", 4_109, "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314"),
	heartFile("va", 6_737, "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f"),
	{"california-housing", "california-housing/cal_housing.data", 2_092_122,
		"d3d8a1a722ae78f91134862727d27a70b1415e7d512a89140406248687f4b902",
		[]string{"https://www.dcc.fc.up.pt/~ltorgo/Regression/cal_housing.tgz",
			"https://ndownloader.figshare.com/files/5976036"}, "CaliforniaHousing/cal_housing.data"},
	{"adult-a9a", "adult-a9a/a9a", 2_329_875,
		"f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906", []string{ntu + "a9a"}, ""},
	{"adult-a9a", "adult-a9a/a9a.t", 1_164_628,
		"1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9", []string{ntu + "a9a.t"}, ""},
	{"breast-cancer", "breast-cancer-wdbc/wdbc.data", 124_103,
		"d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
		[]string{uci + "breast-cancer-wisconsin/wdbc.data"}, ""},
	{"parkinsons", "parkinsons-telemonitoring/parkinsons_updrs.data", 911_261,
		"f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
		[]string{uci + "parkinsons/telemonitoring/parkinsons_updrs.data"}, ""},
}

func published(path string) File {
	for _, f := range files {
		if f.Path == path {
			return f
		}
	}
	panic("data: no published file " + path)
}

// store reads the published files of one data set and collects their sums.
type store struct {
	dir  string
	any  bool // accept files that differ from the published ones
	sums []string
}

// read returns the bytes of the published file at path, after comparing its size and
// SHA-256.
func (s *store) read(path string) ([]byte, error) {
	f := published(path)
	at := filepath.Join(s.dir, filepath.FromSlash(path))
	if info, err := os.Stat(at); err == nil && !s.any && info.Size() != f.Bytes {
		return nil, f.Check(at) // names both sums without holding a file of any size
	}
	b, err := os.ReadFile(at)
	if err != nil {
		return nil, unopened(f, at, err)
	}
	sum := hexSum(b)
	if sum != f.SHA256 && !s.any {
		return nil, altered(f, at, int64(len(b)), sum)
	}
	s.sums = append(s.sums, sum)
	return b, nil
}

// open is read for parsers: it also returns the file name for errors.
func (s *store) open(path string) (*bytes.Reader, string, error) {
	b, err := s.read(path)
	return bytes.NewReader(b), filepath.Join(s.dir, filepath.FromSlash(path)), err
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// unopened is err, the error of opening the file.
func unopened(f File, at string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data: %w", err)
	}
	hint := "it is not published in this form, so it cannot be fetched"
	if len(f.URLs) > 0 {
		hint = "fetch it with: sotto data fetch " + f.Dataset
	}
	return fmt.Errorf("%w: %s (%s)", ErrMissing, at, hint)
}

func altered(f File, at string, n int64, sum string) error {
	return fmt.Errorf("%w: %s: expected sha256 %s (%d bytes), found %s (%d bytes)", ErrAltered, at, f.SHA256,
		f.Bytes, sum, n)
}

// Check compares the file at a path with the published one, without holding it in memory:
// nil, or an error that wraps [ErrMissing] or [ErrAltered], or that of reading it.
func (f File) Check(at string) error {
	r, err := os.Open(at)
	if err != nil {
		return unopened(f, at, err)
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != f.Bytes || sum != f.SHA256 {
		return altered(f, at, n, sum)
	}
	return nil
}
