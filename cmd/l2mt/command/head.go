package command

// A head is fully connected layers in front of the network. Every command with a head, or with a
// network that has one, works on the features that the head makes.

import (
	"path/filepath"
	"strconv"
	"strings"

	"l2mt/layers"
	"l2mt/model"
)

// randomHead begins the name of a head that is drawn and not read: then the
// widths of its layers follow, from the features on, as random:64-32-16. It is
// always the same one.
const (
	randomHead     = "random:"
	randomHeadSeed = 1
)

// widest bounds the layers of a random head.
const widest = 100_000

// openHead reads a head, or draws a random one. It is nil for no name.
func openHead(name string) (layers.Head, error) {
	text, random := strings.CutPrefix(name, randomHead)
	if name == "" {
		return nil, nil
	}
	if !random {
		return model.ReadHead(name)
	}
	var widths []int
	for w := range strings.SplitSeq(text, "-") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > widest || w == text {
			return nil, errUsage.Errorf("--head=%s: it must be the widths of the layers, from the features on, as %s64-32-16, each from 1 to %d", name, randomHead, widest)
		}
		widths = append(widths, n)
	}
	return layers.RandomHead(randomHeadSeed, widths...), nil
}

// headName is a head's name in files, where paths of a machine mean nothing.
func headName(name string) string {
	if strings.HasPrefix(name, randomHead) {
		return name
	}
	return filepath.Base(name)
}
