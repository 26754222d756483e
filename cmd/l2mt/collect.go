package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/infer"
	"l2mt/model"
	"l2mt/train/collect"
)

type collectCmd struct {
	Problems string        `required:"" type:"path" help:"Problem file."`
	Dataset  string        `help:"Dataset to use instead of the one that the file names."`
	Out      string        `required:"" type:"path" help:"Directory of the experience. If it has some, only what is missing is added."`
	Models   []string      `help:"Multitask models to try (${models}); by default the paper's ten."`
	Draws    int           `default:"1" help:"Draws of hyperparameters for each model."`
	Explore  int           `default:"8" help:"Random covariances to try on each problem."`
	Propose  string        `type:"existingdir" help:"Trained network to ask for covariances."`
	O        collect.Worth `default:"refit" enum:"refit,model" help:"What the relative error belongs to: the covariance, refitted with Lambda1 tuned (refit), or the fit that it came from (model, the paper)."`
	Shard    string        `placeholder:"I/N" help:"Work on the I-th of N parts of the problems, counted from 0. By default what a Slurm array or an indexed Kubernetes job says, else everything."`
	Workers  int           `help:"Tuples made at a time; 0 means one per CPU."`
	Seed     uint64        `default:"1" help:"Seed of everything drawn."`
}

func (c *collectCmd) Run(e *env) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	problems, err := openProblems(c.Problems, c.Dataset)
	if err != nil {
		return err
	}
	ref, err := c.reference()
	if err != nil {
		return err
	}
	manifest, err := config.Manifest(ref, "l2mt "+currentVersions().L2MT)
	if err != nil {
		return err
	}
	if err := keepProblems(c.Out, c.Problems, c.Dataset); err != nil {
		return err
	}
	summary, err := collect.Run(e, c.Out, manifest, config, problems, collect.Options{Workers: c.Workers, Progress: e.reporter()})
	e.remark("%d tuples made, %d of them failed; %d were there before", summary.Made, summary.Failed, summary.Had)
	if err != nil {
		return err
	}
	return e.print(summary, func(w io.Writer) { fmt.Fprintln(w, c.Out) })
}

func (c *collectCmd) config() (collect.Config, error) {
	config := collect.Config{Models: c.Models, Draws: c.Draws, Explore: c.Explore, Worth: c.O, Seed: c.Seed}
	if c.Explore == 0 {
		config.Explore = -1
	}
	var err error
	if config.Shard, config.Shards, err = shardOf(c.Shard, os.Getenv); err != nil {
		return config, err
	}
	if c.Propose != "" {
		network, err := model.Load(c.Propose)
		if err != nil {
			return config, err
		}
		if config.Propose, err = infer.NewNetwork(network); err != nil {
			return config, err
		}
		config.ProposedBy = filepath.Base(c.Propose)
	}
	return config, config.Defaults().Validate()
}

// reference is the dataset of the experience. Problems of files of their own
// have none; then the problem file is what must not change.
func (c *collectCmd) reference() (data.DatasetRef, error) {
	f, err := data.LoadProblems(c.Problems)
	if err != nil {
		return data.DatasetRef{}, err
	}
	if f.Dataset == nil {
		sum, err := fileSum(c.Problems)
		return data.DatasetRef{Path: filepath.Base(c.Problems), SHA256: sum}, err
	}
	ref := *f.Dataset
	if ref.SHA256 == "" {
		d, err := openDataset(datasetPath(c.Problems, c.Dataset, f))
		if err != nil {
			return ref, err
		}
		ref.SHA256 = d.Fingerprint()
	}
	if ref.Path != digits.Name {
		ref.Path = filepath.Base(ref.Path)
	}
	return ref, nil
}

// shardOf reads "i/n". Without it the environment of a Slurm array or of an
// indexed Kubernetes job decides.
func shardOf(flag string, getenv func(string) string) (shard, shards int, err error) {
	if flag == "" {
		return shardOfEnvironment(getenv)
	}
	i, n, ok := strings.Cut(flag, "/")
	shard, err1 := strconv.Atoi(i)
	shards, err2 := strconv.Atoi(n)
	if !ok || errors.Join(err1, err2) != nil || shard < 0 || shard >= shards {
		return 0, 0, fmt.Errorf("%w: --shard=%s: it must be I/N with I in 0..N-1", errUsage, flag)
	}
	return shard, shards, nil
}

func shardOfEnvironment(getenv func(string) string) (shard, shards int, err error) {
	for _, engine := range []struct{ index, first, count string }{
		{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"},
		{"JOB_COMPLETION_INDEX", "", "L2MT_SHARDS"},
	} {
		if getenv(engine.index) == "" {
			continue
		}
		index, err1 := strconv.Atoi(getenv(engine.index))
		count, err2 := strconv.Atoi(getenv(engine.count))
		first := 0
		if engine.first != "" && getenv(engine.first) != "" {
			first, err = strconv.Atoi(getenv(engine.first))
		}
		if errors.Join(err, err1, err2) != nil || index < first || index-first >= count {
			return 0, 0, fmt.Errorf("%w: %s=%s and %s=%s in the environment do not make a shard; give --shard=I/N (--shard=0/1 for everything)",
				errUsage, engine.index, getenv(engine.index), engine.count, getenv(engine.count))
		}
		return index - first, count, nil
	}
	return 0, 1, nil
}
