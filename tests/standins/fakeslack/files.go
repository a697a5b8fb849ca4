package fakeslack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// upload is an upload address.
type upload struct {
	file   *File
	length int
	done   bool
}

func uploadURL(s *Server, v values) (map[string]any, *refusal) {
	n, err := strconv.Atoi(v.Get("length"))
	if v.Get("filename") == "" || err != nil || n <= 0 {
		return no("invalid_arguments")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.id("F")
	s.uploads[id] = &upload{file: &File{ID: id, Name: v.Get("filename")}, length: n}
	return map[string]any{"upload_url": s.base + "/upload/" + id, "file_id": id}, nil
}

// filePart is the member of a multipart form in which a file comes.
const filePart = "\x00file"

func readMultipart(v values, body []byte, boundary string) error {
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("invalid_form_data")
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return errors.New("invalid_form_data")
		}
		if p.FileName() != "" {
			v.Set(filePart, string(data))
		} else {
			v.Set(p.FormName(), string(data))
		}
	}
}

func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	var data string
	size := 0
	if kind := r.Header.Get("Content-Type"); strings.HasPrefix(kind, "multipart/") {
		v, n, err := readValues(w, r)
		if err == nil {
			data, size = v.Get(filePart), n
		}
	} else {
		raw, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)) // too much: the length is wrong below
		data, size = string(raw), len(raw)
	}
	s.serve(w, Call{Method: "upload", Bytes: size, Values: values{}}, func() (map[string]any, *refusal) {
		s.mu.Lock()
		defer s.mu.Unlock()
		u := s.uploads[r.PathValue("id")]
		switch {
		case u == nil:
			return nil, &refusal{Error: "not_found", status: http.StatusNotFound}
		case len(data) != u.length:
			return nil, &refusal{Error: "length_mismatch", status: http.StatusBadRequest}
		}
		u.file.Data, u.done = []byte(data), true
		return map[string]any{}, nil
	})
}

func completeUpload(s *Server, v values) (map[string]any, *refusal) {
	var list []struct{ ID, Title string }
	if json.Unmarshal([]byte(v.Get("files")), &list) != nil || len(list) == 0 {
		return no("invalid_arguments")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var c *channel
	thread := ""
	if id := cmp.Or(v.Get("channel_id"), v.Get("channels")); id != "" {
		var bad *refusal
		if c, bad = s.writable(id); bad != nil {
			return nil, bad
		}
		if thread, bad = c.thread(v.Get("thread_ts")); bad != nil {
			return nil, bad
		}
	}
	var ids []string
	var out []any
	for _, f := range list {
		u := s.uploads[f.ID]
		if u == nil || !u.done {
			return no("file_not_found")
		}
	}
	for _, f := range list {
		u := s.uploads[f.ID]
		u.file.Title = cmp.Or(f.Title, u.file.Name)
		if c != nil {
			u.file.Channel, u.file.Thread = c.ID, thread
		}
		s.files[f.ID] = u.file
		ids, out = append(ids, f.ID), append(out, s.wireFile(u.file))
	}
	if c != nil {
		m := s.put(c, thread, Version{Text: v.Get("initial_comment"), Via: "files.completeUploadExternal"}, s.opt.BotUser)
		m.Files = ids
		if !s.opt.NoEcho {
			e := s.wire(m, m.Version)
			e["subtype"] = "file_share"
			s.outbox = append(s.outbox, s.inChannel(c, e)...)
		}
	}
	s.Fire()
	return map[string]any{"files": out}, nil
}

func (s *Server) wireFile(f *File) map[string]any {
	at := s.base + "/files-pri/" + f.ID
	return map[string]any{"id": f.ID, "name": f.Name, "title": f.Title, "size": len(f.Data), "user": cmp.Or(f.Owner, s.opt.BotUser), "mimetype": cmp.Or(f.Type, "text/plain"),
		"filetype": "text", "mode": cmp.Or(f.Mode, "hosted"), "is_external": f.Mode == "external", "permalink": s.base + "/files/" + f.ID,
		"url_private": cmp.Or(f.At, at+"/"+f.Name), "url_private_download": cmp.Or(f.At, at+"/download/"+f.Name)}
}

// Upload has a person upload a file, which they can then put on a message ([Beside]'s Files takes what it returns).
func (s *Server) Upload(f File) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.ID = s.id("F")
	s.files[f.ID] = &f
	return s.wireFile(&f)
}

// DropFile deletes a file: it leaves a tombstone.
func (s *Server) DropFile(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[id].Mode = "tombstone"
}

// fileInfo is https://docs.slack.dev/reference/methods/files.info
func fileInfo(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[v.Get("file")]
	switch {
	case f == nil:
		return no("file_not_found")
	case f.Mode == "tombstone":
		return no("file_deleted")
	}
	return map[string]any{"file": s.wireFile(f)}, nil
}

// has reports whether the bot's token has a scope.
func (s *Server) has(scope string) bool {
	have := s.scopes(s.BotToken())
	return have == nil || slices.Contains(have, scope)
}

// serveFile gives out a file to who has the bot's token.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.files[r.PathValue("id")]
	s.mu.Unlock()
	switch {
	case bearer(r, nil) != s.BotToken():
		http.Error(w, "sign in", http.StatusForbidden)
	case f == nil || f.Mode == "tombstone":
		http.NotFound(w, r)
	case !s.has("files:read"): // a page to sign in, as if it were the file
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>"))
	case f.Answer != nil:
		f.Answer(w, r)
	default:
		_, _ = w.Write(f.Data) // the client may have gone
	}
}
