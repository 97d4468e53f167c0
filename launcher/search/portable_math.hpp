// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train {

// What decides how many rungs and trials there are must not depend on the machine's libm, and is to
// be what Determined, which is written in Go, computes.

/// The natural logarithm of a finite number above 0 by the method of fdlibm's e_log.c (Sun
/// Microsystems, 1993), in the form without its shortcuts that Go's math.Log has. Where powers are
/// exact its last bit differs from glibc's: log(243) / log(3) is 5 here, and just below 5 there.
double fdlibm_log(double x);

/// A power with a whole exponent of 0 or more, multiplied by squaring, lowest bits of the exponent
/// first: the result of Go's math.Pow, also where it is not exact. May be infinite.
double whole_power(double base, int exponent);

}  // namespace train
