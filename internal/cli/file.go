// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile bounds a file that is read whole.
const maxFile = 256 << 20

// readFile reads a file that a user named: an ordinary one of a bounded size.
func readFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, usage(path, "", "it is not an ordinary file")
	case st.Size() > maxFile:
		return nil, usage(path, "", "the file has %d bytes; at most %d are read", st.Size(), maxFile)
	}
	return os.ReadFile(path)
}

// writeFile writes a file whole or not at all: into a temporary file beside
// it, which then takes its name. A file that holds the same bytes is left
// alone.
func writeFile(path string, data []byte) (changed bool, err error) {
	if old, err := readFile(path); err == nil && bytes.Equal(old, data) {
		return false, nil
	}
	// Through a link, the file it points to is replaced, not the link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o644)
	if st, err := os.Stat(path); err == nil {
		switch {
		case st.IsDir():
			return false, fmt.Errorf("write %s: it is a folder", path)
		case !st.Mode().IsRegular():
			return false, fmt.Errorf("write %s: it is not an ordinary file", path)
		}
		mode = st.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return false, fmt.Errorf("write %s: %w", path, cause(err))
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(data); err != nil {
		return false, fmt.Errorf("write %s: %w", path, cause(err))
	}
	if err = tmp.Chmod(mode); err != nil {
		return false, fmt.Errorf("write %s: %w", path, cause(err))
	}
	if err = tmp.Sync(); err != nil {
		return false, fmt.Errorf("write %s: %w", path, cause(err))
	}
	if err = tmp.Close(); err != nil {
		return false, fmt.Errorf("write %s: %w", path, cause(err))
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return false, fmt.Errorf("write %s: %w", path, cause(err))
	}
	return true, nil
}

// cause drops the temporary file's name, which tells the user nothing.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
