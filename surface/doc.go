// SPDX-License-Identifier: Apache-2.0

// Package surface holds what a server shows of itself: its description, its
// listings, and the contract file they are recorded in.
//
// A Surface comes from a live server (Collect), from a contract file (Decode)
// or from a file that another tool wrote (Read). It says which facets were
// captured, so that a comparison never blames a server for what an older file
// did not record. Nothing here ever calls a tool, gets a prompt or reads a
// resource.
package surface
