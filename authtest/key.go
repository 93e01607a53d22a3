// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// The algorithms of the issuer's keys.
const (
	RS256 = "RS256"
	ES256 = "ES256"
)

// key is one key pair, with the name under which it is published.
type key struct {
	kid, alg string
	private  crypto.Signer
}

// generation is the pair of keys that the issuer has between two rotations.
type generation struct{ rsa, ec *key }

func (g generation) of(alg string) *key {
	if alg == ES256 {
		return g.ec
	}
	return g.rsa
}

// newGeneration derives keys from a seed. Two owners never have the same keys,
// and the same number gives both the same key ids.
func newGeneration(seed uint64, owner string, number int) generation {
	label := fmt.Sprintf("%d %s %d", seed, owner, number)
	return generation{
		rsa: &key{fmt.Sprintf("rsa-%d", number), RS256, rsaKey(label)},
		ec:  &key{fmt.Sprintf("ec-%d", number), ES256, ecKey(label)},
	}
}

// sign returns the signature as JWS has it (RFC 7518). The same input always
// gives the same signature.
func (k *key) sign(input []byte) []byte {
	digest := sha256.Sum256(input)
	signature, err := k.private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		panic(fmt.Sprintf("authtest: sign with %s: %v", k.kid, err)) // a 2048 bit or P-256 key signs every digest
	}
	if k.alg != ES256 {
		return signature
	}
	var point struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(signature, &point); err != nil {
		panic(fmt.Sprintf("authtest: read a signature: %v", err))
	}
	out := make([]byte, 64)
	point.R.FillBytes(out[:32])
	point.S.FillBytes(out[32:])
	return out
}

// jwk is the public half as RFC 7517 writes it.
func (k *key) jwk() []byte {
	public := jose.JSONWebKey{Key: k.private.Public(), KeyID: k.kid, Algorithm: k.alg, Use: "sig"}
	out, err := public.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("authtest: write the key %s: %v", k.kid, err))
	}
	return out
}

func stream(label string) *rand.ChaCha8 {
	return rand.NewChaCha8(sha256.Sum256([]byte("mcprove authtest " + label)))
}

func ecKey(label string) *ecdsa.PrivateKey {
	src := stream(label + " ec")
	for raw := make([]byte, 32); ; {
		_, _ = src.Read(raw) // never fails
		if k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw); err == nil {
			return k
		}
	}
}

// rsaKeys keeps derived keys, which take a tenth of a second each: tests make
// an IdP apiece, mostly of one seed.
var rsaKeys struct {
	sync.Mutex
	byLabel map[string]*rsa.PrivateKey
}

const maxRSAKeys = 64

func rsaKey(label string) *rsa.PrivateKey {
	rsaKeys.Lock()
	defer rsaKeys.Unlock()
	if k := rsaKeys.byLabel[label]; k != nil {
		return k
	}
	k := deriveRSA(stream(label + " rsa"))
	if len(rsaKeys.byLabel) >= maxRSAKeys || rsaKeys.byLabel == nil {
		rsaKeys.byLabel = map[string]*rsa.PrivateKey{}
	}
	rsaKeys.byLabel[label] = k
	return k
}

// deriveRSA makes a key of 2048 bits. The standard library makes only random ones.
func deriveRSA(src *rand.ChaCha8) *rsa.PrivateKey {
	const e = 65537
	one := big.NewInt(1)
	for {
		p, q := prime(src, e), prime(src, e)
		if p.Cmp(q) == 0 {
			continue
		}
		n := new(big.Int).Mul(p, q)
		phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
		k := &rsa.PrivateKey{
			PublicKey: rsa.PublicKey{N: n, E: e},
			D:         new(big.Int).ModInverse(big.NewInt(e), phi),
			Primes:    []*big.Int{p, q},
		}
		k.Precompute()
		if err := k.Validate(); err == nil {
			return k
		}
	}
}

// prime returns the first prime of 1024 bits behind a point of the stream that
// can be a factor of an RSA modulus of 2048 bits with the exponent e.
func prime(src *rand.ChaCha8, e int64) *big.Int {
	raw := make([]byte, 128)
	_, _ = src.Read(raw) // never fails
	raw[0] |= 0xc0       // so that the product has all its bits
	raw[127] |= 1
	candidate, rest, two := new(big.Int).SetBytes(raw), new(big.Int), big.NewInt(2)
	for ; ; candidate.Add(candidate, two) {
		// e is prime: p-1 must not be a multiple of it.
		if rest.Mod(candidate, big.NewInt(e)).Int64() != 1 && candidate.ProbablyPrime(8) {
			return candidate
		}
	}
}
