package run

// A head is fully connected layers in front of the network. Every command that
// is given one, or a network that has one, works on the features that it makes.

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"l2mt/layers"
	"l2mt/model"
)

// randomHead begins the name of a head that is drawn and not read: then the
// number of features and the widths of its layers follow, as random:64-128-64. It
// is always the same one.
const (
	randomHead     = "random:"
	randomHeadSeed = 1
)

// widest bounds the layers of a random head.
const widest = 100_000

// OpenHead reads a head, or draws a random one. It is nil for no name.
func OpenHead(name string) (layers.Head, error) {
	widths, random := strings.CutPrefix(name, randomHead)
	switch {
	case name == "":
		return nil, nil
	case random:
		return drawHead(widths)
	}
	return model.ReadHead(name)
}

func drawHead(text string) (layers.Head, error) {
	var widths []int
	for _, w := range strings.Split(text, "-") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > widest {
			return nil, fmt.Errorf("%w: --head=%s%s: it must be the widths from the features on, as %s64-128-64, each from 1 to %d", ErrUsage, randomHead, text, randomHead, widest)
		}
		widths = append(widths, n)
	}
	if len(widths) < 2 {
		return nil, fmt.Errorf("%w: --head=%s%s: it needs the number of features and the width of a layer, as %s64-128", ErrUsage, randomHead, text, randomHead)
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
