// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/portable_math.hpp"

#include <cmath>

namespace train {

// x = 2^k * (1 + f), where 1 + f lies between sqrt(1/2) and sqrt(2). With s = f / (2 + f),
// log(1 + f) = log(1 + s) - log(1 - s) = 2s + s * R, where R is an even polynomial in s (Remez, of
// degree 14, its error is below 2^-58.45); 2s = f - s * f. The logarithm of 2 comes in two parts,
// of which the higher has 32 bits, so that its product with k is exact.
double fdlibm_log(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double by_degree[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                  2.857142874366239149e-01, 2.222219843214978396e-01,
                                  1.818357216161805012e-01, 1.531383769920937332e-01,
                                  1.479819860511658591e-01};
  constexpr double root_of_half = 0.70710678118654752440;
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction < root_of_half) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1;
  const double k = exponent;
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  const double odd =
      s2 * (by_degree[0] + s4 * (by_degree[2] + s4 * (by_degree[4] + s4 * by_degree[6])));
  const double even = s4 * (by_degree[1] + s4 * (by_degree[3] + s4 * by_degree[5]));
  const double rest = odd + even;
  const double half_square = 0.5 * f * f;
  return k * ln2_high - ((half_square - (s * (half_square + rest) + k * ln2_low)) - f);
}

double whole_power(double base, int exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power *= base;
    base *= base;
  }
  return power;
}

}  // namespace train
