package solve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/infer"
	"l2mt/model"
)

// AtlasFile is kept beside a network's weights.
const AtlasFile = "atlas.json"

// Atlas holds the embeddings of the problems that a network was trained on, to
// say how far a new problem is from them.
type Atlas struct {
	Problems []Embedded `json:"problems"`
	// Radius is the largest distance of a training problem from its nearest
	// other one, tasks that they share left out, because a new problem has new
	// tasks. Problems further away are unlike everything in training.
	Radius float64 `json:"radius"`
}

// Embedded is a problem as an atlas has it.
type Embedded struct {
	Name string `json:"name"`
	// Tasks names the tasks, and E holds their embeddings.
	Tasks []string    `json:"tasks"`
	E     [][]float32 `json:"e"`
}

// Neighbour is a training problem near a new one.
type Neighbour struct {
	Name     string  `json:"name"`
	Distance float64 `json:"distance"`
}

// Tasks are the embeddings, task by task. Where the network embeds
// pairs of tasks, there are none, and the second result is false.
func (e *Embedding) Tasks() (Embedded, bool) {
	p := Embedded{Name: e.problem.Name}
	if e.finder.of.Config.Embeds() != model.PerTask {
		return p, false
	}
	h := len(e.E) / len(e.problem.Tasks)
	for i, t := range e.problem.Tasks {
		row := make([]float32, h)
		for j, v := range e.E[i*h:][:h] {
			row[j] = float32(v)
		}
		p.Tasks, p.E = append(p.Tasks, t.Name), append(p.E, row)
	}
	return p, true
}

// EmbedsTasks says whether the network embeds tasks, not pairs of them.
func (f *Finder) EmbedsTasks() bool { return f.of.Config.Embeds() == model.PerTask }

// NewAtlas embeds the problems of training, of which one is looked at at a time.
// Its time grows with the square of their number.
func NewAtlas(n *Finder, problems iter.Seq2[*data.ProblemData, error]) (*Atlas, error) {
	a := &Atlas{}
	for p, err := range problems {
		if err != nil {
			return nil, err
		}
		e, err := n.Embed(p.TrainingOnly())
		if err != nil {
			return nil, err
		}
		embedded, ok := e.Tasks()
		if !ok {
			return nil, fmt.Errorf("solve: atlas: %w: the body %q embeds pairs of tasks; an atlas takes embeddings of tasks", infer.ErrInvalid, n.of.Config.Body)
		}
		a.Problems = append(a.Problems, embedded)
	}
	for i, p := range a.Problems {
		nearest := math.Inf(1)
		for j, other := range a.Problems {
			if i != j {
				nearest = min(nearest, distance(p, other, true))
			}
		}
		if !math.IsInf(nearest, 1) {
			a.Radius = max(a.Radius, nearest)
		}
	}
	return a, nil
}

// Nearest lists the k nearest problems, nearest first. The problem must be embedded by
// the network that the atlas belongs to.
func (a *Atlas) Nearest(p Embedded, k int) ([]Neighbour, error) {
	near := []Neighbour{}
	for _, other := range a.Problems {
		if have, want := len(other.E[0]), len(p.E[0]); have != want {
			return nil, fmt.Errorf("solve: atlas: %w: its embeddings have length %d, those of problem %q have %d; it belongs to another network", infer.ErrInvalid, have, p.Name, want)
		}
		near = append(near, Neighbour{other.Name, distance(p, other, false)})
	}
	slices.SortStableFunc(near, func(a, b Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	return near[:min(k, len(near))], nil
}

// Outside reports whether a problem at that distance from its nearest one is
// further away than any training problem was from the others. A radius of zero,
// such as that of a single problem, does not tell.
func (a *Atlas) Outside(distance float64) bool { return a.Radius > 0 && distance > a.Radius }

// distance is the mean, over the tasks of a, of the distance to the nearest
// task of b, of another name if they must be different tasks. A task and the
// task with all labels flipped are the same here.
func distance(a, b Embedded, different bool) float64 {
	sum := 0.0
	for i, e := range a.E {
		nearest := math.Inf(1)
		for k, f := range b.E {
			if different && a.Tasks[i] == b.Tasks[k] {
				continue
			}
			minus, plus := 0.0, 0.0
			for j, v := range e {
				d, s := float64(v-f[j]), float64(v+f[j])
				minus += d * d
				plus += s * s
			}
			nearest = min(nearest, minus, plus)
		}
		sum += math.Sqrt(nearest)
	}
	return sum / float64(len(a.E))
}

// Save writes the atlas beside a network.
func (a *Atlas) Save(dir string) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("solve: atlas: %w", err)
	}
	if err := files.WriteFile(filepath.Join(dir, AtlasFile), append(raw, '\n')); err != nil {
		return fmt.Errorf("solve: atlas: %w", err)
	}
	return nil
}

// LoadAtlas reads the atlas beside a network.
func LoadAtlas(dir string) (*Atlas, error) {
	path := filepath.Join(dir, AtlasFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("solve: atlas: %w", err)
	}
	a := &Atlas{}
	if err := files.DecodeJSON(raw, a); err != nil {
		return nil, fmt.Errorf("solve: atlas: %s: %w: %w", path, infer.ErrInvalid, err)
	}
	for i, p := range a.Problems {
		if err := p.check(a.Problems[0]); err != nil {
			return nil, fmt.Errorf("solve: atlas: %s: problem %d (%q): %w: %w", path, i, p.Name, infer.ErrInvalid, err)
		}
	}
	return a, nil
}

// check tells what keeps a problem from standing beside the first of its atlas.
func (p Embedded) check(first Embedded) error {
	if len(p.Tasks) == 0 || len(p.E) != len(p.Tasks) {
		return fmt.Errorf("it has %d tasks and %d embeddings; it needs one for each", len(p.Tasks), len(p.E))
	}
	width := len(first.E[0])
	for i, e := range p.E {
		if len(e) != width {
			return fmt.Errorf("task %q has an embedding of length %d; that of the first task of all has %d", p.Tasks[i], len(e), width)
		}
	}
	return nil
}
