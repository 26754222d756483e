package command

import (
	"errors"
	"fmt"

	"l2mt/train/collect"
)

type collectCmd struct {
	Problems       string `required:"" type:"path" help:"File of the problems to try covariances on."`
	dataFlags      `embed:""`
	Out            string `required:"" type:"path" help:"Directory to write the experience to. Tuples that it has are kept, and missing ones added."`
	Head           string `placeholder:"FILE" help:"Fully connected layers to put the features through (see l2mt train --head): covariances are tried on the features that they make."`
	Part           string `name:"shard" placeholder:"I/N" help:"Work on part I of N of the problems, counted from 0; by default on all. Processes that run at the same time need the same N."`
	Workers        int    `help:"Number of tuples made at the same time; 0 means one per CPU."`
	buildFlags     `embed:""`
	collect.Config `embed:""`
}

func (c *collectCmd) Validate() error {
	if c.Draws < 1 || min(c.Explore, c.Near, c.Workers) < 0 {
		return fmt.Errorf("--draws=%d --explore=%d --near=%d --workers=%d: --draws must be at least 1, the others at least 0", c.Draws, c.Explore, c.Near, c.Workers)
	}
	_, err := c.config()
	return err
}

// Run makes experience in a directory that has the problems too.
func (c *collectCmd) Run(e *env) (err error) {
	defer room()()
	problems, err := c.problems(c.Problems)
	if err == nil {
		problems, err = through(problems, c.Head)
	}
	if err == nil {
		_, err = problems.Problem(0) // before there is a directory
	}
	if err != nil {
		return err
	}
	config, _ := c.config() // Validate has seen that it is right
	manifest := config.Manifest(problems.Reference(), "l2mt "+versions()["l2mt"])
	collector, err := collect.Open(c.Out, manifest, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, collector.Close()) }()
	if config.Shards > 1 {
		e.remark("shard %d (from 0) of %d", config.Shard, config.Shards)
	}
	if collector.Torn() {
		e.remark("warning: the last tuple was cut off while it was written; it is made again")
	}
	// The problems come before the first tuple, so that no store is without them.
	if err := problems.Keep(c.Out); err != nil {
		return err
	}
	var s collect.Summary
	err = c.goOn(e, c.Out, func(begin func() error) (err error) {
		s, err = collector.Run(e, problems,
			collect.Options{Workers: c.Workers, Progress: e.reporter(), Begin: begin})
		return err
	})
	e.remark("%d tuples made, %d of them failed; %d were there before", s.Made, s.Failed-s.Perfect, s.Had)
	if s.Perfect > 0 {
		e.remark("%d have no relative error, because single-task learning makes no test error on their problems", s.Perfect)
	}
	if s.Failed > s.Perfect {
		e.remark("l2mt experience check %s says why", c.Out)
	}
	if err != nil {
		return err
	}
	return e.print(struct {
		Dir string `json:"dir"`
		collect.Summary
	}{c.Out, s}, "collected")
}

func (c *collectCmd) config() (config collect.Config, err error) {
	config = c.Config
	if config.Shard, config.Shards, err = shardOf(c.Part); err != nil {
		return config, err
	}
	if err := config.Validate(); err != nil {
		return config, errUsage.Errorf("%w", err)
	}
	return config, nil
}

// shardOf reads "i/n"; nothing is everything.
func shardOf(flag string) (shard, shards int, err error) {
	if flag == "" {
		return 0, 1, nil
	}
	_, err = fmt.Sscanf(flag, "%d/%d", &shard, &shards)
	if err != nil || flag != fmt.Sprintf("%d/%d", shard, shards) || shard < 0 || shard >= shards {
		return 0, 0, errUsage.Errorf("--shard=%s: it must be I/N with I in 0..N-1", flag)
	}
	return shard, shards, nil
}
