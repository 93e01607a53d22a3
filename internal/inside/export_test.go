// SPDX-License-Identifier: Apache-2.0

package inside

// Hidden is hidden, for the tests.
var Hidden = hidden
