// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/bcrypt_pbkdf.hpp"

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace train {

namespace {

constexpr std::size_t subkey_count = 18;
constexpr std::size_t box_count = 4;
constexpr std::size_t box_size = 256;
constexpr std::size_t word_count = subkey_count + box_count * box_size;
constexpr std::size_t block_bytes = 32;  // of output
constexpr std::size_t hash_bytes = 64;   // SHA-512
constexpr std::size_t max_key = 512;

using Words = std::array<std::uint32_t, word_count>;
using Hash = std::array<unsigned char, hash_bytes>;
using Block = std::array<unsigned char, block_bytes>;

struct FreeNumber {
  void operator()(BIGNUM* number) const { BN_free(number); }
};
using Bignum = std::unique_ptr<BIGNUM, FreeNumber>;

// 2^bits * arctan(1/x), by its series.
Bignum scaled_arctan(BN_ULONG x, int bits) {
  Bignum sum(BN_new()), power(BN_new()), term(BN_new());
  BN_one(power.get());
  BN_lshift(power.get(), power.get(), bits);
  BN_div_word(power.get(), x);
  BN_zero(sum.get());
  for (BN_ULONG n = 1; !BN_is_zero(power.get()); n += 2) {
    BN_copy(term.get(), power.get());
    BN_div_word(term.get(), n);
    if (n % 4 == 1)
      BN_add(sum.get(), sum.get(), term.get());
    else
      BN_sub(sum.get(), sum.get(), term.get());
    BN_div_word(power.get(), x * x);
  }
  return sum;
}

// Blowfish starts with the fraction digits of pi (Schneier 1993), computed here with Machin's
// formula: pi = 16 arctan(1/5) - 4 arctan(1/239).
Words digits_of_pi() {
  constexpr int guard_bits = 64;  // against the rounding of the divisions
  constexpr int fraction_bits = static_cast<int>(word_count) * 32;
  const Bignum fifth = scaled_arctan(5, fraction_bits + guard_bits);
  const Bignum small = scaled_arctan(239, fraction_bits + guard_bits);
  BN_mul_word(fifth.get(), 16);
  BN_mul_word(small.get(), 4);
  BN_sub(fifth.get(), fifth.get(), small.get());
  BN_rshift(fifth.get(), fifth.get(), guard_bits);
  BN_mask_bits(fifth.get(), fraction_bits);  // without the 3
  std::array<unsigned char, word_count * 4> bytes{};
  BN_bn2binpad(fifth.get(), bytes.data(), static_cast<int>(bytes.size()));
  Words words{};
  for (std::size_t i = 0; i < bytes.size(); ++i) words[i / 4] = words[i / 4] << 8 | bytes[i];
  return words;
}

class Blowfish {
 public:
  Blowfish() {
    static const Words pi = digits_of_pi();
    words_ = pi;
  }
  ~Blowfish() { OPENSSL_cleanse(words_.data(), sizeof words_); }
  Blowfish(const Blowfish&) = delete;
  Blowfish& operator=(const Blowfish&) = delete;

  // The key schedule of Blowfish, mixed with `salt` (all zeros in the original).
  void expand(const Hash& key, const Hash& salt) { expand_with(key, &salt); }
  void expand(const Hash& key) { expand_with(key, nullptr); }

  void encrypt(std::uint32_t& left, std::uint32_t& right) const {
    std::uint32_t l = left ^ words_[0];
    std::uint32_t r = right;
    for (std::size_t i = 1; i < subkey_count - 1; i += 2) {
      r ^= mixed(l) ^ words_[i];
      l ^= mixed(r) ^ words_[i + 1];
    }
    left = r ^ words_[subkey_count - 1];
    right = l;
  }

 private:
  std::uint32_t mixed(std::uint32_t x) const {
    const std::uint32_t* boxes = words_.data() + subkey_count;
    return ((boxes[x >> 24] + boxes[box_size + (x >> 16 & 255)]) ^
            boxes[2 * box_size + (x >> 8 & 255)]) +
           boxes[3 * box_size + (x & 255)];
  }

  // The words of the hash in order, starting again after the 16th (64 bytes).
  static std::uint32_t word_of(const Hash& hash, std::size_t index) {
    const unsigned char* b = hash.data() + index % (hash_bytes / 4) * 4;
    return std::uint32_t(b[0]) << 24 | std::uint32_t(b[1]) << 16 | std::uint32_t(b[2]) << 8 | b[3];
  }

  void expand_with(const Hash& key, const Hash* salt) {
    for (std::size_t i = 0; i < subkey_count; ++i) words_[i] ^= word_of(key, i);
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    for (std::size_t i = 0; i < word_count; i += 2) {
      if (salt) {
        left ^= word_of(*salt, i);
        right ^= word_of(*salt, i + 1);
      }
      encrypt(left, right);
      words_[i] = left;
      words_[i + 1] = right;
    }
  }

  Words words_;
};

bool sha512(std::string_view text, Hash& hash) {
  return EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha512(), nullptr) == 1;
}

Block bcrypt_hash(const Hash& passphrase, const Hash& salt) {
  Blowfish cipher;
  cipher.expand(passphrase, salt);
  for (int i = 0; i < 64; ++i) {
    cipher.expand(salt);
    cipher.expand(passphrase);
  }
  constexpr std::string_view text = "OxychromaticBlowfishSwatDynamite";
  std::array<std::uint32_t, block_bytes / 4> words{};
  for (std::size_t i = 0; i < text.size(); ++i)
    words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(text[i]);
  for (int i = 0; i < 64; ++i)
    for (std::size_t pair = 0; pair < words.size(); pair += 2)
      cipher.encrypt(words[pair], words[pair + 1]);
  Block block{};
  for (std::size_t i = 0; i < block.size(); ++i)  // little-endian, unlike everything else here
    block[i] = static_cast<unsigned char>(words[i / 4] >> (8 * (i % 4)));
  return block;
}

std::string_view view(const Block& block) {
  return {reinterpret_cast<const char*>(block.data()), block.size()};
}

// One block of the result: the exclusive or of `rounds` hashes, each salted with the previous one.
bool make_block(const Hash& passphrase, std::string_view salt, std::uint32_t number,
                std::uint32_t rounds, const std::atomic<bool>& is_cancelled, Block& result) {
  std::string counted(salt);
  for (int shift = 24; shift >= 0; shift -= 8) counted += static_cast<char>(number >> shift);
  Hash salt_hash{};
  if (!sha512(counted, salt_hash)) return false;
  Block block = bcrypt_hash(passphrase, salt_hash);
  result = block;
  bool is_made = true;
  for (std::uint32_t i = 1; i < rounds; ++i) {
    is_made = !is_cancelled && sha512(view(block), salt_hash);
    if (!is_made) break;
    block = bcrypt_hash(passphrase, salt_hash);
    for (std::size_t j = 0; j < result.size(); ++j) result[j] ^= block[j];
  }
  OPENSSL_cleanse(block.data(), block.size());
  return is_made;
}

}  // namespace

bool bcrypt_pbkdf(std::string_view passphrase, std::string_view salt, std::uint32_t rounds,
                  char* key, std::size_t key_size, const std::atomic<bool>& is_cancelled) {
  if (key_size == 0 || key_size > max_key) return false;
  Hash hash{};
  if (!sha512(passphrase, hash)) return false;
  // Unlike in PBKDF2, every block is spread over the whole key.
  const std::size_t stride = (key_size + block_bytes - 1) / block_bytes;
  bool is_made = true;
  for (std::size_t number = 0; number < stride && is_made; ++number) {
    Block block{};
    is_made =
        make_block(hash, salt, static_cast<std::uint32_t>(number + 1), rounds, is_cancelled, block);
    for (std::size_t i = 0; i * stride + number < key_size && i < block.size(); ++i)
      key[i * stride + number] = static_cast<char>(block[i]);
    OPENSSL_cleanse(block.data(), block.size());
  }
  OPENSSL_cleanse(hash.data(), hash.size());
  return is_made;
}

}  // namespace train
