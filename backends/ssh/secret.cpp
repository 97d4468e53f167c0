// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/secret.hpp"

#include <openssl/crypto.h>

namespace train {

void wipe(char* bytes, std::size_t size) { OPENSSL_cleanse(bytes, size); }

}  // namespace train
