// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train {

// The functions that determine the numbers of rungs and trials. They must not depend on the
// machine's libm, and must give the same results as Determined, which is written in Go.

/// The natural logarithm of a finite number above 0 by the method of fdlibm's e_log.c (Sun
/// Microsystems, 1993), without its shortcuts, like Go's math.Log. For exact powers its last bit
/// differs from glibc's: log(243) / log(3) is 5 here, and just below 5 in glibc.
double fdlibm_log(double x);

/// A power with a whole exponent of 0 or more, computed by squaring, lowest bits of the exponent
/// first: the result of Go's math.Pow, also where it is not exact. May be infinite.
double whole_power(double base, int exponent);

}  // namespace train
