// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train {

/// Whether memory that OpenSSL frees is overwritten with zeros first. Its decoders copy private
/// keys into memory that they free without wiping (OpenSSL 3.0:
/// providers/implementations/encode_decode), where it remains readable. This is set up before
/// main(), in every program that links this file: OpenSSL accepts other memory functions only
/// before its first allocation.
bool openssl_frees_zeros();

}  // namespace train
