// Go's mime/multipart reads our messages, which tests/interop.rs has written, and those that we accept, by
// tests/differential.rs.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing/iotest"
)

type message struct {
	Case        string
	ContentType string `json:"content_type"`
	Parts       []part
}

type part struct {
	Name        *string
	ContentType string `json:"content_type"`
	Filename    *string
	Len         int
	Sha256      string
}

type reading struct {
	manner string
	reader func(io.Reader) io.Reader
}

var readings = []reading{
	{"whole", func(r io.Reader) io.Reader { return r }},
	{"byte by byte", iotest.OneByteReader},
}

// An exception is what a reader does with messages that it does not read the same.
type exception struct {
	Reader string
	It     string
	Cases  []string
}

const (
	same      = "reads the same"
	refuses   = "refuses"
	otherwise = "reads otherwise"
)

func main() {
	folder := os.Args[1]
	var sent, accepted []message
	var listed []exception
	parse(filepath.Join(folder, "index.json"), &sent)
	parse(filepath.Join(folder, "accepted.json"), &accepted)
	parse(os.Args[2], &listed)

	parts, differences := 0, 0
	differ := func(format string, values ...any) {
		differences++
		fmt.Printf(format+"\n", values...)
	}
	for _, m := range sent {
		parts += len(m.Parts)
		for _, r := range readings {
			for _, difference := range compare(m, r.reader(body(folder, m))) {
				differ("%s, %s: %s", m.Case, r.manner, difference)
			}
		}
	}
	exceptions := map[string]string{}
	for _, e := range listed {
		for _, name := range e.Cases {
			if e.Reader == "mime/multipart" {
				exceptions[name] = e.It
			}
		}
	}
	met := 0
	for _, m := range accepted {
		expected, isListed := exceptions[m.Case]
		if !isListed {
			expected = same
		} else {
			met++
		}
		for _, r := range readings {
			if outcome, difference := compareNamesAndContent(m, r.reader(body(folder, m))); outcome != expected {
				differ("%s, %s: %s, expected that it %s (exceptions.json): %s", m.Case, r.manner, outcome, expected, difference)
			}
		}
	}
	if met != len(exceptions) {
		differ("exceptions.json has %d cases, but %d of them are messages", len(exceptions), met)
	}
	fmt.Printf("mime/multipart (%s): %d messages with %d parts and %d accepted ones, each whole and byte by byte: "+
		"%d exceptions, %d differences\n",
		runtime.Version(), len(sent), parts, len(accepted), met, differences)
	if differences > 0 {
		os.Exit(1)
	}
}

func parse(path string, into any) {
	file, err := os.ReadFile(path)
	check(err)
	check(json.Unmarshal(file, into))
}

func body(folder string, m message) io.Reader {
	body, err := os.ReadFile(filepath.Join(folder, m.Case+".body"))
	check(err)
	return bytes.NewReader(body)
}

// compareNamesAndContent says what Go does with a message that we accept, and in what it differs.
func compareNamesAndContent(m message, body io.Reader) (outcome, difference string) {
	_, parameters, err := mime.ParseMediaType(m.ContentType)
	if err != nil {
		return refuses, err.Error()
	}
	reader := multipart.NewReader(body, parameters["boundary"])
	for number, sent := range m.Parts {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return otherwise, fmt.Sprintf("%d parts", number)
		}
		if err != nil {
			return refuses, err.Error()
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return refuses, err.Error()
		}
		// Go gives "" for no name.
		name := ""
		if sent.Name != nil {
			name = *sent.Name
		}
		if sum := sha256.Sum256(content); p.FormName() != name || hex.EncodeToString(sum[:]) != sent.Sha256 {
			return otherwise, fmt.Sprintf("part %d is %q with %d bytes", number, p.FormName(), len(content))
		}
	}
	switch _, err := reader.NextPart(); {
	case errors.Is(err, io.EOF):
		return same, ""
	case err == nil:
		return otherwise, "parts too many"
	default:
		return refuses, err.Error()
	}
}

// compare gives all differences between what was sent and what Go reads.
func compare(m message, body io.Reader) (differences []string) {
	kind, parameters, err := mime.ParseMediaType(m.ContentType)
	if err != nil || kind != "multipart/form-data" {
		return []string{fmt.Sprintf("Content-Type read as %q: %v", kind, err)}
	}
	reader := multipart.NewReader(body, parameters["boundary"])
	for number, sent := range m.Parts {
		differ := func(field string, expected, got any) {
			if expected != got {
				differences = append(differences, fmt.Sprintf("part %d (%q), %s: expected %q, got %q",
					number, *sent.Name, field, fmt.Sprint(expected), fmt.Sprint(got)))
			}
		}
		p, err := reader.NextPart()
		if err != nil {
			return append(differences, fmt.Sprintf("part %d (%q): not read: %v", number, *sent.Name, err))
		}
		// Part.FileName would give the last name of a path only.
		kind, parameters, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
		differ("disposition", "form-data", kind)
		differ("error of the disposition", nil, err)
		differ("name", *sent.Name, parameters["name"])
		filename, hasFilename := parameters["filename"]
		differ("has a file name", sent.Filename != nil, hasFilename)
		if sent.Filename != nil {
			differ("filename", expectedFilename(*sent.Filename), filename)
		}
		differ("content_type", sent.ContentType, p.Header.Get("Content-Type"))
		kind, _, err = mime.ParseMediaType(p.Header.Get("Content-Type"))
		essence, _, _ := strings.Cut(sent.ContentType, ";")
		differ("media type", strings.ToLower(essence), kind)
		differ("error of the media type", nil, err)

		content, err := io.ReadAll(p)
		differ("error of the content", nil, err)
		differ("len", sent.Len, len(content))
		sum := sha256.Sum256(content)
		differ("sha256", sent.Sha256, hex.EncodeToString(sum[:]))
	}
	if p, err := reader.NextPart(); !errors.Is(err, io.EOF) {
		differences = append(differences, fmt.Sprintf("expected the end, got part %v, error %v", p, err))
	}
	return differences
}

var (
	quotesAndLineEnds = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")
	escaped           = regexp.MustCompile(`\\([()<>@,;:\\"/[\]?=])`)
)

// expectedFilename is what Go gives for a file name: percent signs have no meaning; a backslash is an
// escape before a special character of RFC 2045 only, otherwise itself. The encoder doubles one before
// another and at the end, which Go undoes; before other characters it writes it as browsers do.
func expectedFilename(filename string) string {
	doubled := ""
	for at, c := range filename {
		if c == '\\' && (at+1 == len(filename) || filename[at+1] == '\\') {
			doubled += `\`
		}
		doubled += string(c)
	}
	return escaped.ReplaceAllString(quotesAndLineEnds.Replace(doubled), "$1")
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
