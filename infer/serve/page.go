package serve

import (
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var page string

//go:embed form.js
var form []byte

// page writes a form of the columns of a model.
func (s *Server) page(w http.ResponseWriter, r *http.Request, m *model) {
	t, err := template.New("page").Parse(page)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'")
	shown := map[string]any{"Model": m.describe(), "Names": s.names()}
	_ = t.Execute(w, shown) // who asked may have gone
}

func script(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/javascript")
	w.Write(form)
}
