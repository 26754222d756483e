package train

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"hash"
	"os"

	"l2mt/data"
	"l2mt/model"
)

// shelf keeps what the graphs take of the examples of a run, their payloads and
// tuples: all of it in memory or, with a limit, all of it in a file and in memory
// what was used last. What comes from the file is what went there, bit for bit,
// so that a limit changes nothing but the time.
type shelf struct {
	config   model.Config
	head     model.Head // the layers in the graph
	examples []prepared
	digest   hash.Hash // of what a run learns from

	limit, used int64     // bytes
	recent      list.List // of *place in memory, the last used in front
	file        *os.File  // nil without a limit
	end         int64
}

// prepared is an example, or one tuple of it, ready for the graphs: what a run
// needs of all of them, and where the rest is.
type prepared struct {
	name        string
	rows, tasks int
	outcomes    []float64 // of the tuples from first on
	first       int
	place       *place
}

// load brings what the graphs take.
func (p prepared) load() (*model.Payload, []model.Tuple, error) {
	c, err := p.place.load()
	if err != nil {
		return nil, nil, fmt.Errorf("train: problem %q: %w", p.name, err)
	}
	return c.payload, c.tuples[p.first:][:len(p.outcomes)], nil
}

// place is where the content of an example is.
type place struct {
	shelf          *shelf
	offset, length int64 // in the file
	size           int64 // in memory
	content        *content
	recent         *list.Element // nil when it is in the file only
}

type content struct {
	payload *model.Payload
	tuples  []model.Tuple
}

// newShelf returns an empty shelf for payloads of a configuration, with the
// layers of the head that are in the graph. A limit of 0 means none; with one,
// the file is in dir, where it has no name and ends with the process.
func newShelf(c model.Config, head model.Head, limit int64, dir string) (*shelf, error) {
	s := &shelf{config: c, head: head, digest: sha256.New(), limit: limit}
	if limit == 0 {
		return s, nil
	}
	var err error
	if s.file, err = os.CreateTemp(dir, ".examples-*"); err == nil {
		err = os.Remove(s.file.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("train: a file for what is not in memory: %w", err)
	}
	return s, nil
}

func (s *shelf) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// add prepares an example, whose problem has the features that go into the graph.
func (s *shelf) add(e Example) error {
	var graphs []*data.LabelGraph
	var err error
	if s.config.Layers > 1 {
		if graphs, err = model.LabelGraphs(e.Problem, s.config.Neighbours); err != nil {
			return err
		}
	}
	payload, err := model.Prepare(s.config, e.Problem, graphs, s.head...)
	if err != nil {
		return err
	}
	p := &place{shelf: s, size: payload.Bytes()}
	ready := prepared{name: e.Problem.Name, rows: payload.Rows(), tasks: payload.Tasks(), place: p}
	for _, t := range e.Tuples {
		ready.outcomes = append(ready.outcomes, t.O)
		p.size += int64(8 * (len(t.Omega) + 1))
	}
	s.examples = append(s.examples, ready)
	switch {
	case s.limit == 0:
		p.content = &content{payload, e.Tuples}
		return nil
	case p.size > s.limit:
		return fmt.Errorf("train: problem %q: %w: it takes %d bytes of memory, but the limit is %d; raise the limit", ready.name, ErrConfig, p.size, s.limit)
	}
	return s.write(p, flatten(e, graphs))
}

func (s *shelf) write(p *place, f flat) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(f); err != nil {
		return fmt.Errorf("train: problem %q: %w", f.Name, err)
	}
	p.offset, p.length = s.end, int64(b.Len())
	if _, err := s.file.WriteAt(b.Bytes(), p.offset); err != nil {
		return fmt.Errorf("train: problem %q: the file for what is not in memory: %w", f.Name, err)
	}
	s.end += p.length
	return nil
}

// load brings the content to memory, in the place of what was used longest ago.
func (p *place) load() (*content, error) {
	s := p.shelf
	if p.recent != nil {
		s.recent.MoveToFront(p.recent)
	}
	if p.content != nil {
		return p.content, nil
	}
	for s.used+p.size > s.limit {
		s.drop(s.recent.Back().Value.(*place))
	}
	raw := make([]byte, p.length)
	if _, err := s.file.ReadAt(raw, p.offset); err != nil {
		return nil, fmt.Errorf("the file for what is not in memory: %w", err)
	}
	var f flat
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(&f); err != nil {
		return nil, fmt.Errorf("the file for what is not in memory: %w", err)
	}
	e, err := f.example()
	if err != nil {
		return nil, err
	}
	payload, err := model.Prepare(s.config, e.Problem, f.Graphs, s.head...)
	if err != nil {
		return nil, err
	}
	p.content = &content{payload, e.Tuples}
	p.recent = s.recent.PushFront(p)
	s.used += p.size
	return p.content, nil
}

func (s *shelf) drop(p *place) {
	s.recent.Remove(p.recent)
	p.content, p.recent = nil, nil
	s.used -= p.size
}

// flat is an example in fields that gob can write, with its label graphs.
type flat struct {
	Name   string
	Tasks  []flatTask
	Graphs []*data.LabelGraph
	Tuples []model.Tuple
}

// flatTask has the training rows of a task, one after the other.
type flatTask struct {
	Name   string
	Kind   data.Kind
	Cols   int
	Sparse bool
	Ptr    []int // of sparse rows
	Index  []int32
	Value  []float32
	Y      []float64
}

func flatten(e Example, graphs []*data.LabelGraph) flat {
	f := flat{Name: e.Problem.Name, Graphs: graphs, Tuples: e.Tuples}
	for _, t := range e.Problem.Tasks {
		x := t.TrainSet.X
		_, dense := x.(*data.Dense)
		ft := flatTask{Name: t.Name, Kind: t.Kind, Cols: x.Cols(), Sparse: !dense, Ptr: []int{0}, Y: t.TrainSet.Y}
		for i := range x.Rows() {
			r := x.Row(i)
			ft.Index, ft.Value = append(ft.Index, r.Index...), append(ft.Value, r.Value...)
			ft.Ptr = append(ft.Ptr, len(ft.Value))
		}
		f.Tasks = append(f.Tasks, ft)
	}
	return f
}

func (f flat) example() (Example, error) {
	p := &data.ProblemData{Problem: &data.Problem{Name: f.Name}}
	var faults []error
	for _, t := range f.Tasks {
		var x data.Matrix
		var err error
		if t.Sparse {
			x, err = data.NewCSR(t.Cols, t.Ptr, t.Index, t.Value)
		} else {
			x, err = data.NewDense(len(t.Ptr)-1, t.Cols, t.Value)
		}
		faults = append(faults, err)
		p.Tasks = append(p.Tasks, data.TaskData{
			Task: &data.Task{Name: t.Name, Kind: t.Kind}, TrainSet: data.Samples{X: x, Y: t.Y},
		})
	}
	return Example{p, f.Tuples}, errors.Join(faults...)
}
