// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/openssl_memory.hpp"

#include <malloc.h>
#include <openssl/crypto.h>
#include <string.h>

#include <algorithm>
#include <cstdlib>

namespace train {

namespace {

void* take(std::size_t size, const char*, int) { return size > 0 ? std::malloc(size) : nullptr; }

void give_back(void* block, const char*, int) {
  if (block) ::explicit_bzero(block, ::malloc_usable_size(block));
  std::free(block);
}

// Always moves to a new block: realloc(3) would not wipe the old one.
void* move(void* block, std::size_t size, const char* file, int line) {
  void* const moved = take(size, file, line);
  if (size > 0 && !moved) return nullptr;  // the old block stays
  if (moved && block) ::memcpy(moved, block, std::min(size, ::malloc_usable_size(block)));
  give_back(block, file, line);
  return moved;
}

const bool is_set = CRYPTO_set_mem_functions(take, move, give_back) == 1;

}  // namespace

bool openssl_frees_zeros() { return is_set; }

}  // namespace train
