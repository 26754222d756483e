package run

// A head is fully connected layers in front of the network. Every command that
// is given one, or a network that has one, works on the features that it makes.

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/layers"
	"l2mt/model"
)

// randomHead begins the name of a head that is drawn and not read: then the
// widths of its layers follow, as random:128-64. It is always the same one.
const (
	randomHead     = "random:"
	randomHeadSeed = 1
)

// widest bounds the layers of a random head.
const widest = 100_000

// OpenHead reads a head, or draws a random one for so many features. It is nil
// for no name.
func OpenHead(name string, features int) (layers.Head, error) {
	widths, random := strings.CutPrefix(name, randomHead)
	if name == "" {
		return nil, nil
	}
	head, err := layers.Head(nil), error(nil)
	if random {
		head, err = drawHead(widths, features)
	} else {
		head, err = model.ReadHead(name)
	}
	if err != nil {
		return nil, err
	}
	if head.In() != features {
		return nil, fmt.Errorf("%w: %w: --head=%s takes %d features, but the dataset has %d", ErrUsage, data.ErrMismatch, name, head.In(), features)
	}
	return head, nil
}

func drawHead(text string, features int) (layers.Head, error) {
	widths := []int{features}
	for _, w := range strings.Split(text, "-") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > widest {
			return nil, fmt.Errorf("%w: --head=%s%s: it must be the widths of the layers, as %s128-64, each from 1 to %d", ErrUsage, randomHead, text, randomHead, widest)
		}
		widths = append(widths, n)
	}
	return layers.RandomHead(randomHeadSeed, widths...), nil
}

// HeadName is a head's name in files, where paths of a machine mean nothing.
func HeadName(name string) string {
	if strings.HasPrefix(name, randomHead) {
		return name
	}
	return filepath.Base(name)
}
