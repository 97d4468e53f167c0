// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train {

/// Whether what OpenSSL gives back to the heap is made zeros first. Its decoders copy private keys
/// into memory that they free as it is (OpenSSL 3.0: providers/implementations/encode_decode), and
/// freed memory is still there to be read. It is so from before main() on, in every program that
/// has this: OpenSSL takes other functions only while it has taken no memory.
bool openssl_frees_zeros();

}  // namespace train
