// SPDX-License-Identifier: Apache-2.0

package proc

// EndInput closes stdin, as somebody does who leaves, and does not wait.
func (p *Process) EndInput() error {
	p.remember()
	return p.Stdin.Close()
}

// Terminate asks the tree to terminate, and does not wait.
func (p *Process) Terminate() {
	p.remember()
	p.tree.terminate()
}

// Left counts the processes of the tree that are still there once the command
// itself has ended: those that it left behind. Zero is told before that. One
// that left the group is counted on Linux alone, where it was there at the last
// EndInput or Terminate.
func (p *Process) Left() int {
	if !p.ended() {
		return 0
	}
	p.knownMu.Lock()
	known := p.known
	p.knownMu.Unlock()
	return p.tree.left(known)
}

// remember notes whom the command has started, while it can be asked.
func (p *Process) remember() {
	list := p.children()
	p.knownMu.Lock()
	defer p.knownMu.Unlock()
	if list != nil {
		p.known = list
	}
}
