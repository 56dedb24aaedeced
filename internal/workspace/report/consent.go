package report

// This file stores a learner's consent: .workshop/board.json. Without that file nothing is sent.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"client-go-workshop/internal/course"
)

// Consent is a learner's yes to one board.
type Consent struct {
	URL  string `json:"url"` // http://HOST:PORT
	Name string `json:"name"`
	ID   string `json:"id"`
}

const (
	idLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	idLength  = 26
)

// newID returns a random ID. It only has to differ from other learners' IDs.
func newID() string {
	id := make([]byte, idLength)
	for i := range id {
		id[i] = idLetters[rand.IntN(len(idLetters))]
	}
	return string(id)
}

func consentFile(root string) string { return filepath.Join(root, ".workshop", "board.json") }

// Load returns the stored consent, or the zero Consent if there is none. A file that is not a consent is an error.
func Load(root string) (c Consent, err error) {
	path := consentFile(root)
	text, err := course.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Consent{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil {
		_, err = ParseURL(c.URL)
	}
	if err == nil {
		err = Report{ID: c.ID, Name: c.Name}.Check()
	}
	if err != nil {
		return Consent{}, fmt.Errorf("read your consent to the board: %w; nothing is sent. To remove the file: "+
			"go tool workshop watch --report off", err)
	}
	return c, nil
}

// Store makes and stores a consent. Another name for the same board keeps the ID, so the board replaces the name.
func Store(root, url, name string) (Consent, error) {
	address, err := ParseURL(url)
	if err != nil {
		return Consent{}, err
	}
	c := Consent{URL: address, Name: name, ID: newID()}
	if err := checkName(name); err != nil {
		return Consent{}, err
	}
	if old, err := Load(root); err == nil && old.URL == address {
		c.ID = old.ID
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(consentFile(root)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(consentFile(root), append(text, '\n'), 0o600)
	}
	if err != nil {
		return Consent{}, fmt.Errorf("store your consent to the board: %w", err)
	}
	return c, nil
}

// Remove removes the stored consent, and reports whether there was one.
func Remove(root string) (bool, error) {
	err := os.Remove(consentFile(root))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("take back your consent to the board: %w", err)
	}
	return true, nil
}

// ParseURL returns the address of a board in the form that is stored: http://HOST:PORT.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" ||
		u.Path != "" && u.Path != "/" {
		return "", fmt.Errorf("%q is not the address of a board: the instructor's screen shows it, "+
			"such as http://192.168.1.7:7100", text)
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return "http://" + net.JoinHostPort(u.Hostname(), port), nil
}
