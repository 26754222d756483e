package command

import (
	"l2mt/infer/serve"
)

type serveCmd struct {
	Model         []string `required:"" sep:"none" help:"Directory that fit has saved a model to, or NAME=DIRECTORY, once for every model. The first answers where a request names none."`
	serve.Options `embed:""`
}

func (c *serveCmd) Run(e *env) error {
	c.Log = e.remark
	c.Version = versions()["l2mt"]
	s, err := serve.New(c.Model, c.Options)
	if err != nil {
		return err
	}
	defer room()()
	return s.Run(e)
}
