package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/progress"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model"
)

// problemFlags name the problems that a command works on.
type problemFlags struct {
	Problems  string `required:"" type:"path" help:"Problem file."`
	Name      string `help:"Name of one problem of the file; by default all are taken."`
	dataFlags `embed:""`
}

func (f *problemFlags) open() ([]*data.ProblemData, error) {
	problems, err := f.all(f.Problems)
	if err != nil || f.Name == "" {
		return problems, err
	}
	for _, p := range problems {
		if p.Name == f.Name {
			return []*data.ProblemData{p}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s has no problem %q; the first is %q", errUsage, f.Problems, f.Name, problems[0].Name)
}

type inferCmd struct {
	Network      string `type:"existingdir" help:"Trained network; by default the pretrained one, which serves all features (l2mt version names it)."`
	problemFlags `embed:""`
	Out          string `type:"path" help:"Directory for the model, for l2mt predict and l2mt show, predictions.csv, omega.json, correlation.png, embedding.json, seconds.json and result.json; with several problems, one folder for each."`
	OmegaOnly    bool   `help:"Stop at the covariance. Needs no validation or test rows."`
	Select       bool   `help:"Also fit the paper's ten models, tuned, and rank their covariances by the estimated error: which model suits the problem."`
	Score        string `type:"path" placeholder:"FILE" help:"Estimate the error of given covariances instead: a JSON list of {\"name\": ..., \"omega\": [[...]]}."`
	Candidates   bool   `help:"List every candidate in the order in which they were tried."`
	Nearest      int    `default:"3" help:"Training problems to name, nearest first."`
	Workers      int    `help:"Fits at a time; 0 means one per CPU."`
}

func (c *inferCmd) Validate() error {
	switch {
	case c.OmegaOnly && c.Select:
		return errors.New("--omega-only and --select exclude each other: the models must be fitted to be ranked")
	case c.Score != "" && (c.OmegaOnly || c.Select || c.Out != ""):
		return errors.New("--score only estimates: it goes with none of --omega-only, --select and --out")
	case c.Nearest < 0:
		return fmt.Errorf("--nearest=%d: it must not be negative", c.Nearest)
	}
	return nil
}

func (c *inferCmd) Run(e *env) error {
	begin := time.Now()
	network, err := run.LoadNetwork(c.Network)
	if err != nil {
		return err
	}
	problems, err := c.open()
	if err != nil {
		return err
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Score != "" {
		return c.score(e, network, problems)
	}
	atlas, seen, err := c.known(e, network)
	if err != nil {
		return err
	}
	sum, err := run.NetworkSum(c.Network)
	if err != nil {
		return err
	}
	reading := time.Since(begin).Seconds()
	results, err := c.inferAll(e, network, problems, run.InferOptions{
		Atlas: atlas, Seen: seen, Nearest: c.Nearest, OmegaOnly: c.OmegaOnly, Select: c.Select, Workers: c.Workers,
	})
	if err != nil {
		return err
	}
	results[0].Seconds.Reading = reading
	for _, r := range results {
		r.Network = sum
	}
	for _, r := range results {
		if err := r.Save(c.dir(r, len(results))); err != nil {
			return err
		}
	}
	return e.print(results, func(w io.Writer) {
		for _, r := range results {
			r.Write(w, c.Candidates)
		}
	})
}

// known reads what the network knows of its training problems: one of the two, or
// neither.
func (c *inferCmd) known(e *env, network *solve.Finder) (atlas *solve.Atlas, seen *model.Seen, err error) {
	file := model.SeenFile
	if network.EmbedsTasks() {
		file = solve.AtlasFile
		atlas, err = solve.LoadAtlas(c.Network)
	} else {
		seen, err = run.LoadSeen(c.Network)
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.remark("%s has no %s, so there is no telling how far a problem is from those of training; l2mt train makes it", c.Network, file)
		return nil, nil, nil
	}
	return atlas, seen, err
}

// inferAll solves the problems one after the other. Progress is that of the
// problems, or within the only one.
func (c *inferCmd) inferAll(e *env, network *solve.Finder, problems []*data.ProblemData, o run.InferOptions) (results []*run.Inference, err error) {
	var over progress.Reporter
	o.Progress, over = e.reporter(), progress.Silent()
	if len(problems) > 1 {
		o.Progress, over = over, o.Progress
	}
	over.Start("problems", len(problems))
	defer over.Finish()
	for _, p := range problems {
		r, err := run.Infer(e, network, p, o)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		over.Advance(1, p.Name)
	}
	return results, nil
}

// dir is where a result goes, or empty.
func (c *inferCmd) dir(r *run.Inference, results int) string {
	if c.Out == "" || results == 1 {
		return c.Out
	}
	return filepath.Join(c.Out, url.PathEscape(r.Problem))
}

// scored is a covariance with the error that the network expects of it.
type scored struct {
	Problem  string        `json:"problem"`
	Name     string        `json:"name"`
	Expected compare.Float `json:"expected_relative_error"`
}

// score estimates the errors of given covariances.
func (c *inferCmd) score(e *env, network *solve.Finder, problems []*data.ProblemData) error {
	given, err := readCovariances(c.Score)
	if err != nil {
		return err
	}
	var scores []scored
	for _, p := range problems {
		embedding, err := network.Embed(p)
		if err != nil {
			return err
		}
		for i, g := range given {
			omega, err := data.NewCovariance(g.Omega)
			if err != nil {
				return fmt.Errorf("%s: entry %d (%q): %w", c.Score, i, g.Name, err)
			}
			expected, err := embedding.Estimated(omega)
			if err != nil {
				return fmt.Errorf("%s: entry %d (%q): %w", c.Score, i, g.Name, err)
			}
			scores = append(scores, scored{p.Name, g.Name, compare.Float(expected)})
		}
	}
	return e.print(scores, func(w io.Writer) {
		t := run.Fields(w)
		fmt.Fprintln(t, "expected relative error\tproblem\tcovariance")
		for _, s := range scores {
			fmt.Fprintf(t, "%.4f\t%s\t%s\n", s.Expected, s.Problem, s.Name)
		}
		t.Flush()
	})
}

func readCovariances(path string) (given []run.Covariance, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if given, err = parseCovariances(raw); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, data.ErrFormat, err)
	}
	return given, nil
}

func parseCovariances(raw []byte) (given []run.Covariance, err error) {
	if err := files.DecodeJSON(raw, &given); err != nil {
		return nil, fmt.Errorf("it must be a JSON list of {\"name\": ..., \"omega\": [[...]]}: %w", err)
	}
	if len(given) == 0 {
		return nil, errors.New("the list is empty")
	}
	return given, nil
}
