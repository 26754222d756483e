package serve

import (
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

//go:embed form.js
var form []byte

// page writes a form of the columns of a model.
func (s *Server) page(w http.ResponseWriter, r *http.Request, m *model) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'")
	shown := map[string]any{
		"Model": m.describe(),
		"Names": s.names(),
	}
	_ = page.Execute(w, shown) // who asked may have gone
}

func script(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/javascript")
	w.Write(form)
}
