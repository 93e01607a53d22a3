// SPDX-License-Identifier: Apache-2.0

// Package proc starts a command together with everything it starts, and ends
// the whole tree.
//
// On unix the tree is a process group, on windows a job object. The package
// reads no environment: what a command sees is handed in.
package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Command is what to start.
type Command struct {
	// Argv is the program and its arguments. A program without a path
	// separator is looked up in the PATH of Env.
	Argv []string
	Dir  string   // empty: the current folder
	Env  []string // the whole environment, as "NAME=value"
	// Stderr receives a copy of what is written there, may be nil. A write
	// that fails ends the copy, not the reading.
	Stderr io.Writer
	// Tail is how many bytes of stderr are kept; zero means 64 KiB.
	Tail int
}

// StartError is a command that could not be started.
type StartError struct {
	Path string // what was to be run
	Err  error
}

func (e *StartError) Error() string {
	var pathErr *os.PathError
	err := e.Err
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Sprintf("start %s: %v", e.Path, err)
}

func (e *StartError) Unwrap() error { return e.Err }

// Status says how a process ended.
type Status struct {
	Code   int    // exit status, -1 when a signal ended it
	Signal string // its name, or empty
}

// Process is a running command. Stop must be called in the end, also when the
// process has ended by itself: others of its tree may be left.
type Process struct {
	// Stdin and Stdout are our ends of the pipes. Closing them is the
	// caller's right; Stop does it too.
	Stdin  *os.File
	Stdout *os.File

	cmd    *exec.Cmd
	tree   *tree
	tail   *tail
	stderr *os.File

	exited  chan struct{} // the process ended and was waited for
	drained chan struct{} // stderr was read to its end
	status  Status

	stop    sync.Once
	stopped chan struct{}

	knownMu sync.Mutex
	known   []origin // descendants, as they were when the command was to end
}

const defaultTail = 64 << 10

// Start starts c. The error is a *StartError.
func Start(c Command) (*Process, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, &StartError{Err: errors.New("no command")}
	}
	path, err := lookPath(c.Argv[0], c.Dir, c.Env)
	if err != nil {
		return nil, &StartError{Path: c.Argv[0], Err: err}
	}
	p, err := start(path, c)
	if err != nil {
		return nil, &StartError{Path: c.Argv[0], Err: err}
	}
	return p, nil
}

func start(path string, c Command) (p *Process, err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err := pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := pipe()
	if err != nil {
		return nil, err
	}
	env := c.Env
	if env == nil {
		env = []string{} // nil would mean our own
	}
	cmd := &exec.Cmd{Path: path, Args: c.Argv, Dir: c.Dir, Env: env, Stdin: inR, Stdout: outW, Stderr: errW}
	t, err := startTree(cmd)
	if err != nil {
		return nil, err
	}
	closeAll([]*os.File{inR, outW, errW})
	size := c.Tail
	if size <= 0 {
		size = defaultTail
	}
	p = &Process{
		Stdin: inW, Stdout: outR, cmd: cmd, tree: t, stderr: errR, tail: &tail{max: size},
		exited: make(chan struct{}), drained: make(chan struct{}), stopped: make(chan struct{}),
	}
	go p.drain(c.Stderr)
	go p.wait()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// drain always reads, so that a server that floods stderr is never blocked.
func (p *Process) drain(copyTo io.Writer) {
	defer close(p.drained)
	buf := make([]byte, 8<<10)
	for {
		n, err := p.stderr.Read(buf)
		if n > 0 {
			p.tail.write(buf[:n])
			if copyTo != nil {
				if _, werr := copyTo.Write(buf[:n]); werr != nil {
					copyTo = nil
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Process) wait() {
	defer close(p.exited)
	// All three streams are files, so this waits for the process alone and
	// not for others that hold the pipes.
	err := p.cmd.Wait()
	p.status = statusOf(p.cmd.ProcessState, err)
	p.tree.leaderGone()
}

// PID is the id of the process, which leads its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended, whatever others of its tree do.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status is valid once Exited is closed.
func (p *Process) Status() Status {
	if !p.ended() {
		return Status{}
	}
	return p.status
}

// Tail returns the last of what was written to stderr.
func (p *Process) Tail() string { return p.tail.String() }

// DrainStderr waits until stderr was read to its end, at most for d: a
// process that has just died may have left its reason in the pipe.
func (p *Process) DrainStderr(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.drained:
	case <-t.C:
	}
}

// Grace is the patience of Stop.
type Grace struct {
	Close time.Duration // after closing stdin
	Term  time.Duration // after asking the tree to terminate
	// Hurry, when it is closed, ends both waits; may be nil.
	Hurry <-chan struct{}
}

// Stop ends the tree: it closes stdin, waits, asks the tree to terminate,
// waits, and kills what is left. It returns when the process is gone and all
// pipes are closed. It may be called by several goroutines; all of them wait.
func (p *Process) Stop(g Grace) {
	p.stop.Do(func() {
		defer close(p.stopped)
		p.end(g)
	})
	<-p.stopped
}

func (p *Process) end(g Grace) {
	children := p.children()
	_ = p.Stdin.Close()
	if !p.await(g.Close, g.Hurry) {
		children = append(children, p.children()...)
		p.tree.terminate()
		p.await(g.Term, g.Hurry)
	}
	// The leader may be gone and others of the tree still there.
	p.tree.kill()
	killThose(children)
	<-p.exited
	select {
	case <-p.drained:
	case <-time.After(stderrRest):
		// Somebody has the pipe and is out of reach of the signals above.
		killHolders(p.Stdout, p.stderr)
	}
	_ = p.Stdout.Close()
	_ = p.stderr.Close()
	<-p.drained
	p.tree.release()
}

// children lists the descendants of a process that has not ended. After that
// its number may be a stranger's.
func (p *Process) children() []origin {
	if p.ended() {
		return nil
	}
	list := descendants(p.PID())
	if p.ended() {
		return nil
	}
	return list
}

func (p *Process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// stderrRest is how long the last words of a dead tree are waited for. Only a
// process that left the group can still hold the pipe then.
const stderrRest = 100 * time.Millisecond

// await waits for the process to end, and says whether it did.
func (p *Process) await(d time.Duration, hurry <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-hurry:
	case <-t.C:
	}
	return p.ended()
}

// tail keeps the last max bytes.
type tail struct {
	mu  sync.Mutex
	max int
	buf []byte // at most 2*max
}

func (t *tail) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*t.max {
		n := copy(t.buf, t.buf[len(t.buf)-t.max:])
		t.buf = t.buf[:n]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-t.max):])
}
