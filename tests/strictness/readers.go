// Go's mime/multipart and encoding/json read the messages that tests/strictness.rs has written.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

type index struct {
	Messages  []trick
	Documents []trick
}

type trick struct {
	Case        string
	ContentType string `json:"content_type"`
}

func main() {
	folder := os.Args[1]
	var cases index
	check(json.Unmarshal(file(folder, "index.json"), &cases))
	messages, documents := map[string]any{}, map[string]any{}
	for _, m := range cases.Messages {
		messages[m.Case] = read(m.ContentType, string(file(folder, m.Case+".body")))
	}
	for _, d := range cases.Documents {
		documents[d.Case] = decode(file(folder, d.Case+".json"))
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"name":      "Go",
		"version":   strings.TrimPrefix(runtime.Version(), "go"),
		"messages":  messages,
		"documents": documents,
	}))
}

func read(contentType, body string) any {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return refused(err)
	}
	reader := multipart.NewReader(strings.NewReader(body), parameters["boundary"])
	parts := [][3]any{}
	for {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return map[string]any{"parts": parts}
		}
		if err != nil {
			return refused(err)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return refused(err)
		}
		// FormName and FileName give "" for none.
		parts = append(parts, [3]any{orNil(p.FormName()), orNil(p.FileName()), content})
	}
}

func decode(text []byte) any {
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return refused(err)
	}
	again, err := json.Marshal(document)
	check(err)
	return map[string]string{"document": string(again)}
}

func refused(err error) any {
	return map[string]string{"refused": err.Error()}
}

func orNil(name string) any {
	if name == "" {
		return nil
	}
	return name
}

func file(folder, name string) []byte {
	content, err := os.ReadFile(filepath.Join(folder, name))
	check(err)
	return content
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
