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
	Part           part   `name:"shard" placeholder:"I/N" help:"Work on part I of N of the problems, counted from 0; by default on all. Processes that run at the same time need the same N."`
	Workers        int    `help:"Number of tuples made at the same time; 0 means one per CPU."`
	buildFlags     `embed:""`
	collect.Config `embed:""`
}

func (c *collectCmd) Validate() error {
	if c.Draws < 1 || min(c.Explore, c.Near, c.Workers) < 0 {
		return fmt.Errorf("--draws=%d --explore=%d --near=%d --workers=%d: --draws must be at least 1, the others at least 0",
			c.Draws, c.Explore, c.Near, c.Workers)
	}
	return c.Config.Validate()
}

// Run makes experience in a directory that has the problems too.
func (c *collectCmd) Run(e *env) (err error) {
	problems, err := c.problems(c.Problems)
	if err != nil {
		return err
	}
	if _, err := problems.Problem(0); err != nil { // before there is a directory
		return err
	}
	c.Shard = c.Part.index
	c.Shards = c.Part.count
	collector, err := collect.Open(c.Out, c.Config,
		problems.Reference(), "l2mt "+versions()["l2mt"])
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, collector.Close())
	}()
	if c.Shards > 1 {
		e.remark("shard %d (from 0) of %d", c.Shard, c.Shards)
	}
	if collector.Torn {
		e.remark("warning: the last tuple was cut off while it was written; it is made again")
	}
	// The problems come before the first tuple, so that no store is without them.
	if err := problems.Keep(c.Out); err != nil {
		return err
	}
	var s collect.Summary
	err = c.goOn(e, c.Out, func(begin func() error) (err error) {
		s, err = collector.Run(e, problems,
			collect.Options{
				Workers:  c.Workers,
				Progress: e.reporter(),
				Begin:    begin,
			})
		return err
	})
	e.remark("%d tuples made, %d of them failed; %d were there before",
		s.Made, s.Failed-s.Perfect, s.Had)
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

// part is one of so many parts of the work, counted from 0; the part of none is the whole.
type part struct{ index, count int }

// UnmarshalText reads "I/N".
func (p *part) UnmarshalText(text []byte) error {
	fmt.Sscanf(string(text), "%d/%d", &p.index, &p.count)
	if string(text) != p.String() || p.index < 0 || p.index >= p.count {
		return fmt.Errorf("it must be I/N with I in 0..N-1, not %s", text)
	}
	return nil
}

func (p part) String() string {
	return fmt.Sprintf("%d/%d", p.index, p.count)
}

// has reports whether item i of the work is in the part.
func (p part) has(i int) bool {
	return p.count == 0 || i%p.count == p.index
}
