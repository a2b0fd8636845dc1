package data

import (
	"fmt"
	"io"
	"strings"

	"sotto/config"
	"sotto/data/idx"
)

const cifarPixels = 3 * 32 * 32

// ReadCIFAR10 reads the binary version of CIFAR-10 (Krizhevsky 2009): records of a label
// 0 to 9 and 32x32 pixels, one plane for each of red, green and blue. The number of
// records follows from the size. Errors are *config.Error with the byte offset: an empty
// file, a partial record, a label out of range, more than 2 GiB.
func ReadCIFAR10(r io.Reader, name string) (*Images, error) {
	return readCIFAR(r, name, []int{10})
}

// ReadCIFAR100 reads the binary version of CIFAR-100: as CIFAR-10, with a coarse label 0
// to 19 and a fine label 0 to 99 before the pixels. Labels are the fine ones, Coarse the
// others.
func ReadCIFAR100(r io.Reader, name string) (*Images, error) {
	return readCIFAR(r, name, []int{20, 100})
}

// readCIFAR reads records with one label byte below each of bounds; the last is the
// label.
func readCIFAR(r io.Reader, name string, bounds []int) (*Images, error) {
	b, err := io.ReadAll(io.LimitReader(r, idx.MaxBytes+1))
	if err != nil {
		return nil, idx.BadByte(name, int64(len(b)), err, "a file that can be read")
	}
	size := len(bounds) + cifarPixels
	if len(b) == 0 || len(b)%size != 0 || len(b) > idx.MaxBytes {
		return nil, idx.BadByte(name, int64(len(b)/size*size), fmt.Sprintf("a file of %d bytes", len(b)),
			fmt.Sprintf("whole records of %d bytes, at least one and %d bytes in all", size, idx.MaxBytes))
	}
	n := len(b) / size
	p := &Images{Height: 32, Width: 32, Channels: 3, Pixels: make([]byte, n*cifarPixels),
		Labels: make([]int32, n)}
	if len(bounds) == 2 {
		p.Coarse = make([]int32, n)
	}
	for i := range n {
		record := b[i*size : (i+1)*size]
		for k, bound := range bounds {
			if int(record[k]) >= bound {
				return nil, idx.BadByte(name, int64(i*size+k), record[k],
					fmt.Sprintf("labels 0 to %d", bound-1))
			}
		}
		if p.Coarse != nil {
			p.Coarse[i] = int32(record[0])
		}
		p.Labels[i] = int32(record[len(bounds)-1])
		planes, image := record[len(bounds):], p.Pixels[i*cifarPixels:(i+1)*cifarPixels]
		for k := range 32 * 32 {
			image[3*k], image[3*k+1], image[3*k+2] = planes[k], planes[1024+k], planes[2048+k]
		}
	}
	return p, nil
}

// CIFAR10Params are the parameters of "cifar-10".
type CIFAR10Params struct {
	ImageParams
	Batches int `toml:"batches"` // training files data_batch_1 .. , 1 to 5 of 10,000 records; default 5
}

// cifar10 loads CIFAR-10: 50,000 and 10,000 images; normalised with the usual channel
// constants, mean (.4914, .4822, .4465) and standard deviation (.2470, .2435, .2616).
func cifar10(decode func(any) error, src Source) (*Split, error) {
	var p struct {
		CIFAR10Params // what digests hold
		FeatureParams
	}
	p.CIFAR10Params = CIFAR10Params{ImageParams{Normalize: true}, 5}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(&p.FeatureParams, 32, 3); err != nil {
		return nil, err
	}
	if p.Batches < 1 || p.Batches > 5 {
		return nil, config.Bad("batches", p.Batches, "1 to 5")
	}
	m := &imaging{name: "cifar-10", resize: p.Resize, FeatureParams: p.FeatureParams,
		classes: strings.Fields("airplane automobile bird cat deer dog frog horse ship truck")}
	if p.Normalize {
		m.mean, m.std = []float64{.4914, .4822, .4465}, []float64{.2470, .2435, .2616}
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	var train *Images
	for k := range p.Batches {
		b, err := st.cifar(fmt.Sprintf("cifar-10-batches-bin/data_batch_%d.bin", k+1), ReadCIFAR10)
		if err != nil {
			return nil, err
		}
		if train == nil {
			train = b
			continue
		}
		train.Pixels = append(train.Pixels, b.Pixels...)
		train.Labels = append(train.Labels, b.Labels...)
	}
	test, err := st.cifar("cifar-10-batches-bin/test_batch.bin", ReadCIFAR10)
	if err != nil {
		return nil, err
	}
	return m.split(train, test, [2]int{p.Limit, p.TestLimit}, p.CIFAR10Params, st.sums)
}

// CIFAR100Params are the parameters of "cifar-100".
type CIFAR100Params struct {
	ImageParams
	Coarse bool `toml:"coarse"` // 20 superclasses instead of 100 classes
}

// FullParams say where the full CIFAR-100 is.
type FullParams struct {
	// Full is a folder with the train.bin and test.bin of the binary version, 50,000 and
	// 10,000 images: absolute, or below the data folder. "" reads the subset.
	Full string `toml:"full,omitempty"`
}

// cifar100 loads a stratified subset of CIFAR-100 in its binary form, 5,000 and 2,000
// images; accuracies are not comparable with published ones. With full it reads the whole
// set, the records of which are checked in whatever order they are. Normalised with mean
// (.5071, .4865, .4409) and standard deviation (.2673, .2564, .2762).
func cifar100(decode func(any) error, src Source) (*Split, error) {
	var p struct {
		CIFAR100Params // what digests hold
		FullParams
		FeatureParams
	}
	p.Normalize = true
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(&p.FeatureParams, 32, 3); err != nil {
		return nil, err
	}
	m := &imaging{name: "cifar-100", resize: p.Resize, FeatureParams: p.FeatureParams,
		classes: strings.Fields(cifar100Fine)}
	if p.Coarse {
		m.classes = strings.Fields(cifar100Coarse)
	}
	if p.Normalize {
		m.mean, m.std = []float64{.5071, .4865, .4409}, []float64{.2673, .2564, .2762}
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	var parts [2]*Images
	for k := range parts {
		var err error
		if p.Full != "" {
			parts[k], err = st.fullCIFAR100(p.Full, k)
		} else {
			parts[k], err = st.cifar([]string{"cifar-100-binary-subset/train.bin",
				"cifar-100-binary-subset/test.bin"}[k], ReadCIFAR100)
		}
		if err != nil {
			return nil, err
		}
		if p.Coarse {
			parts[k].Labels = parts[k].Coarse
		}
	}
	return m.split(parts[0], parts[1], [2]int{p.Limit, p.TestLimit}, p.CIFAR100Params, st.sums)
}

func (s *store) cifar(path string, read func(io.Reader, string) (*Images, error)) (*Images, error) {
	b, at, err := s.open(path)
	if err != nil {
		return nil, err
	}
	return read(b, at)
}

const cifar100Fine = `
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly
camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup
dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower
leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid
otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray
road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle
wardrobe whale willow_tree wolf woman worm`

const cifar100Coarse = `
aquatic_mammals fish flowers food_containers fruit_and_vegetables household_electrical_devices
household_furniture insects large_carnivores large_man-made_outdoor_things
large_natural_outdoor_scenes large_omnivores_and_herbivores medium_mammals non-insect_invertebrates
people reptiles small_mammals trees vehicles_1 vehicles_2`
