// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace train {

/// Whether a numeric address is one by which a machine reaches itself, and no other: 127.0.0.0/8,
/// also with fewer numbers (127.1, as every resolver reads it), `::1` however many zeros it is
/// written with, or `::ffff:127.0.0.1`. A zone ("%lo") does not matter.
bool is_loopback(std::string_view address);

/// Whether a host's name or address is this machine wherever it is read: `localhost`, in any case
/// of letters and with a final dot too, or a loopback address. Nothing is looked up.
bool is_localhost(std::string_view name_or_address);

}  // namespace train
