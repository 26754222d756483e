package train

import (
	"path/filepath"

	"l2mt/model"
)

// TrainHead says which layers of a head are trained along with the network.
type TrainHead string

// The layers to train. Layers below them are applied once for each problem.
const (
	HeadFrozen TrainHead = "none" // none of them: the features stay
	HeadLast   TrainHead = "last" // the last one
	HeadAll    TrainHead = "all"
)

// frozen is the number of layers of a head that are not trained.
func (t TrainHead) frozen(head model.Head) int {
	switch t {
	case HeadAll:
		return 0
	case HeadLast:
		return max(0, len(head)-1)
	}
	return len(head)
}

// useBest brings the best weights back.
func (t *trainer) useBest() error {
	if len(t.layers) == 0 {
		return nil
	}
	best := t.best
	out := t.options.Out
	if out != "" {
		head, err := model.ReadHead(filepath.Join(out, model.HeadFile))
		if err != nil {
			return err
		}
		best = head[max(0, len(head)-len(t.layers)):]
	}
	if best.String() != t.layers.String() {
		return model.ErrMismatch.Errorf("the best layers of the head are %s, but the trained ones %s", best, t.layers)
	}
	kept := model.HeadArrays("", best)
	for i, a := range model.HeadArrays("", t.layers) {
		copy(a.Single, kept[i].Single)
	}
	return nil
}

// checkHead brings the head into the configuration.
func (c *Config) checkHead(head model.Head) error {
	widths := head.String()
	switch {
	case head == nil && c.TrainHead != HeadFrozen:
		return ErrConfig.Errorf("train.head is %q, but no head is given", c.TrainHead)
	case c.Model.Head != "" && c.Model.Head != widths:
		return ErrConfig.Errorf("model.head is %q, but the head given is %q", c.Model.Head, widths)
	case head == nil:
		return nil
	}
	c.Model.Head = widths
	return head.Validate()
}
