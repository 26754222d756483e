// Package serve answers over HTTP with saved models, as MLflow's servers do: POST /invocations
// predicts rows of JSON or CSV, in the way of a table that is predicted. A model that is replaced
// in its directory is taken over between two requests.
package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"

	"l2mt/data"
)

// Options bound what a server takes. Tags explain the fields, here and as flags of a command line.
type Options struct {
	Listen      string        `default:"127.0.0.1:5000" help:"Address to listen on. By default only programs on this machine can connect; :5000 lets other machines connect too, without a password."`
	MaxBody     int           `default:"16" help:"Largest size of a request, in mebibytes."`
	MaxRows     int           `default:"100000" help:"Largest number of rows in a request."`
	Timeout     time.Duration `default:"30s" help:"How long a request may take to arrive, and how long its answer may take."`
	Connections int           `default:"256" help:"Largest number of connections at the same time; further ones wait."`
	// Version is the answer to GET /version.
	Version string `kong:"-"`
	// Log takes remarks on what happens to models.
	Log func(format string, args ...any) `kong:"-"`
}

// Validate refuses bounds that let nothing through.
func (o *Options) Validate() error {
	if o.MaxBody < 1 || o.MaxRows < 1 || o.Timeout <= 0 || o.Connections < 1 {
		return data.Invalid("--max-body, --max-rows, --timeout and --connections must be positive")
	}
	return nil
}

// Server answers requests.
type Server struct {
	Options
	models  []*model // the first answers where no name is given
	memory  *semaphore.Weighted
	largest int64 // bytes of a request
	counts  metrics
}

const (
	mebibyte = 1 << 20
	// small is the size of a request that waits for no memory.
	small = 64 << 10
	// together is how many of the largest requests are in memory at a time.
	together = 2
	// looks is the time between two looks at the directories of models.
	looks = time.Second
)

// New loads models, each given as its directory or as NAME=DIRECTORY.
func New(given []string, o Options) (*Server, error) {
	s := &Server{Options: o}
	s.counts.values = map[string]float64{}
	s.largest = int64(o.MaxBody) * mebibyte
	s.memory = semaphore.NewWeighted(together * s.largest)
	for _, text := range given {
		m, err := newModel(text)
		if err != nil {
			return nil, err
		}
		if s.find(m.name) != nil {
			return nil, data.Invalid("--model: two models are called %q; name one of them, NAME=DIRECTORY", m.name)
		}
		s.models = append(s.models, m)
	}
	return s, nil
}

// find is the model of a name, nil if there is none.
func (s *Server) find(name string) *model {
	for _, m := range s.models {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (s *Server) names() (names []string) {
	for _, m := range s.models {
		names = append(names, m.name)
	}
	return names
}

// Run listens until the context ends, and then finishes the requests that have come in.
func (s *Server) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: s.Timeout,
		ReadTimeout:       s.Timeout,
		WriteTimeout:      3 * s.Timeout, // begins with the request
		IdleTimeout:       s.Timeout,
		MaxHeaderBytes:    small,
	}
	s.Log("http://%s/ answers", listener.Addr())
	go s.watch(ctx)
	drained := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), 3*s.Timeout)
		defer cancel()
		drained <- server.Shutdown(last)
	})
	err = server.Serve(netutil.LimitListener(listener, s.Connections))
	if errors.Is(err, http.ErrServerClosed) {
		err = <-drained
	}
	return err
}

// watch takes over models that are replaced.
func (s *Server) watch(ctx context.Context) {
	for tick := time.Tick(looks); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			s.Reload()
		}
	}
}

// Reload takes over the models that have been replaced. One that cannot be read leaves the older
// one in its place.
func (s *Server) Reload() {
	for _, m := range s.models {
		err := m.load()
		if err != nil {
			s.Log("%v; the earlier model goes on answering", err)
		}
	}
}
