// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config_schema/text/quantity.hpp"

namespace train {

/// Units of a lease as a quantity. More than any host has, as a hostile host may report, is cut.
Quantity lease_quantity(std::uint64_t units);

}  // namespace train
